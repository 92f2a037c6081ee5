"""The commands from end to end, on a model of a few words."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
import yaml

import wordtie
from tests.commands import SMALL, Capture, output, rows, small_text
from wordtie import cli
from wordtie.errors import DataError, RunFolderError
from wordtie.inference.evaluate import evaluate_file, evaluate_split


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run folder; the text lies beside it, and so does the cache."""
    folder = tmp_path_factory.mktemp("commands")
    text = small_text(folder / "text")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.chdir(folder)
        assert cli.main(["train", str(text), "--out", str(folder / "run"), *SMALL]) == 0
        yield folder / "run"


def test_train_again_needs_to_be_told_how(run: Path, capsys: Capture) -> None:
    again = ["train", str(run.parent / "text"), "--out", str(run), *SMALL]
    assert cli.main(again) == RunFolderError.exit_code
    assert "--resume" in capsys.readouterr().err
    resumed = json.loads(output([*again, "--resume", "--json"], capsys))
    assert (resumed["epochs"], resumed["stopped"], resumed["test_tokens"]) == (2, "finished", 28)
    summary = output([*again, "--overwrite"], capsys)
    assert f"test perplexity        {resumed['test_perplexity']:.2f}   over 28 tokens, 0 of them out of" in summary


def test_evaluate_says_what_it_counted(run: Path, capsys: Capture) -> None:
    of_split = json.loads(output(["evaluate", str(run), "--json"], capsys))
    of_file = json.loads(output(["evaluate", str(run), str(run.parent / "text" / "test.txt"), "--json"], capsys))
    assert {"unk_policy", "eos_policy", "text", "sha256"} < of_file.keys() == of_split.keys()
    for name in ("perplexity", "nats", "tokens", "oov", "unk", "eos", "sha256"):
        assert of_file[name] == of_split[name]
    assert of_file["perplexity"] == pytest.approx(math.exp(of_file["nats"] / 28))
    assert "over 28 tokens" in output(["evaluate", str(run)], capsys)
    assert "over 42 tokens" in output(["evaluate", str(run), "--split", "valid"], capsys)


@pytest.mark.parametrize(("split", "more"), [("train", "a bird\na bird\n"), ("test", "the cat\n")])
def test_evaluate_sees_that_the_corpus_has_changed(run: Path, split: str, more: str, capsys: Capture) -> None:
    text = run.parent / "text" / f"{split}.txt"
    before = text.read_text()
    try:
        text.write_text(before + more)
        assert cli.main(["evaluate", str(run)]) == RunFolderError.exit_code
    finally:
        text.write_text(before)
    assert "has changed since training" in capsys.readouterr().err


def test_surprisal_by_line_and_carried_over(run: Path, tmp_path: Path, capsys: Capture) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the cat\nthe bird\n")
    by_line = rows(output(["surprisal", str(run), str(text)], capsys))
    assert [(row["line"], row["position"], row["word"], row["oov"]) for row in by_line] == [
        ("1", "1", "the", "0"),
        ("1", "2", "cat", "0"),
        ("1", "3", "<eos>", "0"),
        ("2", "1", "the", "0"),
        ("2", "2", "bird", "1"),
        ("2", "3", "<eos>", "0"),
    ]
    carried = json.loads(output(["surprisal", str(run), str(text), "--reset", "never", "--json"], capsys))
    assert by_line[0]["surprisal_bits"] == by_line[3]["surprisal_bits"] == f"{carried[0]['surprisal_bits']:.6f}"
    assert by_line[3]["surprisal_bits"] != f"{carried[3]['surprisal_bits']:.6f}"
    evaluated = json.loads(output(["evaluate", str(run), str(text), "--json"], capsys))
    assert sum(row["surprisal_bits"] for row in carried) * math.log(2) == pytest.approx(evaluated["nats"], rel=1e-5)


def test_surprisal_reads_stdin(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the cat")))
    assert [row["word"] for row in rows(output(["surprisal", str(run)], capsys))] == ["the", "cat", "<eos>"]


def test_a_quotation_mark_is_a_word_that_tables_can_hold(run: Path, tmp_path: Path, capsys: Capture) -> None:
    text, out, quoted = (tmp_path / name for name in ("text.txt", "out.csv", "quoted"))
    text.write_text('" the cat "\n')
    words = ['"', "the", "cat", '"', "<eos>"]
    asked = ["surprisal", str(run), str(text)]
    assert [row["word"] for row in from_tsv(output(asked, capsys))] == words
    assert output([*asked, "--out", str(out)], capsys) == ""
    assert [row["word"] for row in csv.DictReader(io.StringIO(out.read_text()))] == words
    compared = from_tsv(output(["compare", str(run), "--phrase", '" the cat', "--top", "3"], capsys))
    assert [row["phrase"] for row in compared] == ['" the cat'] * 5
    (tmp_path / "quoted.txt").write_text('the cat said "\n' * 60)
    assert cli.main(["ngram", f"{quoted}.txt", "--tokenisation", "space", "--out", str(quoted)]) == 0
    (likeliest,) = from_tsv(output(["predict", str(quoted), "the cat said", "--top", "1"], capsys))
    assert likeliest["word"] == '"'


def from_tsv(printed: str) -> list[dict[str, str]]:
    """A printed table as pandas and R read it, whose cells may have quotation marks."""
    return list(csv.DictReader(io.StringIO(printed), delimiter="\t"))


def test_predict_lists_the_likeliest(run: Path, capsys: Capture) -> None:
    words = rows(output(["predict", str(run), "the", "--top", "3"], capsys))
    probabilities = [float(row["probability"]) for row in words]
    assert len(words) == 3
    assert probabilities == sorted(probabilities, reverse=True)
    assert output(["predict", str(run), "the", "cat"], capsys) == output(["predict", str(run), "the cat"], capsys)
    everything = json.loads(output(["predict", str(run), "the", "--top", "99", "--json"], capsys))
    assert sum(row["probability"] for row in everything) == pytest.approx(1, abs=1e-5)


def test_predict_leaves_out_what_is_no_word_where_asked_to(run: Path, capsys: Capture) -> None:
    every, words = (
        output(["predict", str(run), "the cat", "--top", "99", *more], capsys).splitlines()
        for more in ([], ["--words-only"])
    )
    assert words == [line for line in every if not line.startswith("<")]
    assert len(words) == len(every) - 2


def test_generate_is_as_bold_as_its_temperature(run: Path, capsys: Capture) -> None:
    """So cold that every seed writes the likeliest words, or so hot that it is all one what the model says."""
    arguments = ["generate", str(run), "--prompt", "the", "--words", "12", "--temperature"]
    cold, hot = ({output([*arguments, each, "--seed", seed], capsys) for seed in "123"} for each in ("1e-6", "1e6"))
    assert (len(cold), len(hot)) == (1, 3)


def test_generate_repeats_itself_with_the_same_seed(run: Path, capsys: Capture) -> None:
    arguments = ["generate", str(run), "--prompt", "the cat", "--words", "9"]
    first, again, other = (output([*arguments, "--seed", seed], capsys) for seed in ("1", "1", "2"))
    assert first == again != other
    assert first.startswith("the cat")


@pytest.mark.parametrize("name", ["words.csv", "words.jsonl"])
def test_surprisal_of_a_word_a_row_is_that_of_its_sentences(
    name: str, run: Path, tmp_path: Path, capsys: Capture
) -> None:
    words = [("a", "the"), ("a", "cat"), ("a", "sat"), ("b", "the"), ("b", "dog")]
    table, text = tmp_path / name, tmp_path / "text.txt"
    lines = [json.dumps({"item": item, "word": word}) for item, word in words]
    lines = lines if name.endswith(".jsonl") else ["item,word", *(",".join(each) for each in words)]
    table.write_text("\n".join(lines) + "\n")
    text.write_text("the cat sat\nthe dog\n")
    found = rows(output(["surprisal", str(run), str(table), "--words", "word", "--by", "item"], capsys))
    tokens = rows(output(["surprisal", str(run), str(text)], capsys))
    assert [(row["item"], row["word"]) for row in found] == words
    for column in ("line", "region", "oov", "surprisal_bits", "entropy_bits"):
        assert [row[column] for row in found] == [row[column] for row in tokens if row["word"] != "<eos>"]
    for reset in ("line", "never"):
        assert (
            cli.main(["surprisal", str(run), str(table), "--column", "word", "--reset", reset]) == DataError.exit_code
        )
        assert "column word has one word a row, and each would be scored as a sentence" in capsys.readouterr().err


def test_a_column_of_one_word_in_one_row_is_a_sentence(run: Path, tmp_path: Path, capsys: Capture) -> None:
    table = tmp_path / "items.csv"
    table.write_text("item,sentence\n1,cat\n")
    asked = ["surprisal", str(run), str(table), "--column", "sentence"]
    assert [row["word"] for row in rows(output(asked, capsys))] == ["cat", "<eos>"]


def test_marked_regions_are_checked_as_they_are_scored(run: Path, tmp_path: Path, capsys: Capture) -> None:
    """Not as one word a row, nor with the words before and after a mark as one."""
    table = tmp_path / "items.csv"
    table.write_text("item,sentence\n1,the|cat.|sat\n2,the|dog\n")
    asked = ["surprisal", str(run), str(table), "--column", "sentence", "--per", "region", "--mark", "|"]
    assert cli.main(asked) == 0
    printed = capsys.readouterr()
    assert [row["word"] for row in rows(printed.out)] == ["the", "cat.", "sat", "the", "dog"]
    assert "note: unknown because of their punctuation: cat.; the model" in printed.err


def test_a_column_may_begin_with_many_blank_cells(run: Path, tmp_path: Path, capsys: Capture) -> None:
    table, blank = tmp_path / "items.csv", "item,sentence\n" + "".join(f"{number},\n" for number in range(450))
    table.write_text(f"{blank}450,the cat\n")
    asked = ["surprisal", str(run), str(table), "--column", "sentence", "--per", "region"]
    found = rows(output(asked, capsys))
    assert [(row["item"], row["line"], row["word"]) for row in found] == [("450", "451", "the"), ("450", "451", "cat")]
    table.write_text(blank)
    assert cli.main(asked) == DataError.exit_code
    assert "has no words in column sentence" in capsys.readouterr().err


def test_surprisal_of_a_column_of_json_lines(run: Path, tmp_path: Path, capsys: Capture) -> None:
    table, text = tmp_path / "items.jsonl", tmp_path / "text.txt"
    table.write_text('{"id": 1, "text": "the cat, sat"}\n\n{"id": 2, "text": "the dog"}\n')
    text.write_text("the cat, sat\nthe dog\n")
    found = rows(output(["surprisal", str(run), str(table), "--column", "text"], capsys))
    assert [row.pop("id") for row in found] == ["1"] * 4 + ["2"] * 3
    tokens = rows(output(["surprisal", str(run), str(text)], capsys))
    assert [row | {"id": "", "text": ""} for row in found] == [row | {"id": "", "text": ""} for row in tokens]


def test_predict_reads_the_phrase_from_stdin(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    for given, phrase in ((b"the cat\n", "the cat"), (b"the cat\nthe", "the cat\nthe")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        assert output(["predict", str(run), "-"], capsys) == output(["predict", str(run), phrase], capsys)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n")))
    assert cli.main(["predict", str(run), "-"]) == DataError.exit_code
    assert "stdin: has no words in it" in capsys.readouterr().err


def test_surprisal_of_a_column(run: Path, tmp_path: Path, capsys: Capture) -> None:
    table = tmp_path / "items.csv"
    table.write_text('item,sentence\n1,"the cat, sat"\n2,a dog\n')
    assert cli.main(["surprisal", str(run), str(table), "--column", "sentence"]) == 0
    printed = capsys.readouterr()
    assert [(row["line"], row["word"]) for row in rows(printed.out)] == [
        ("1", "the"), ("1", "cat,"), ("1", "sat"), ("1", "<eos>"), ("2", "a"), ("2", "dog"), ("2", "<eos>")
    ]  # fmt: skip
    assert "note: unknown because of their punctuation: cat,; the model takes text" in printed.err
    assert cli.main(["surprisal", str(run), str(table), "--column", "text"]) == DataError.exit_code
    before, link = table.read_bytes(), tmp_path / "link.csv"
    link.symlink_to(table)
    for out in (table, link):
        assert cli.main(["surprisal", str(run), str(table), "--column", "sentence", "--out", str(out)]) == 2
        assert "is a file that is read: write into another one" in capsys.readouterr().err
    assert table.read_bytes() == before
    model = str(tmp_path / "model.arpa")
    Path(model).touch()
    assert cli.main(["surprisal", model, str(table), "--column", "sentence", "--out", model]) == 2
    assert f"--out {model}: is a file that is read" in capsys.readouterr().err
    assert cli.main(["surprisal", str(run), str(table), "--column", "sentence", "--reset", "blank"]) == 2
    assert "write a passage into one cell" in capsys.readouterr().err
    table.write_text('item,sentence\n1,"the cat sat\na dog"\n')
    asked = ["surprisal", str(run), str(table), "--column"]
    cell = [
        row["surprisal_bits"]
        for row in csv.DictReader(io.StringIO(output([*asked, "sentence"], capsys)), delimiter="\t")
    ]
    text = tmp_path / "passage.txt"
    text.write_text("the cat sat\na dog\n")
    assert cell == [
        row["surprisal_bits"] for row in rows(output(["surprisal", str(run), str(text), "--reset", "never"], capsys))
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "RUN", "the zebra"],
        ["generate", "RUN", "--prompt", "the zebra"],
        ["compare", "RUN", "--phrase", "the zebra"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_words_of_a_phrase_that_are_unknown_are_named(run: Path, arguments: list[str], capsys: Capture) -> None:
    assert cli.main([str(run) if word == "RUN" else word for word in arguments]) == 0
    assert "not in the vocabulary, read as <unk>: zebra\n" in capsys.readouterr().err


def test_blank_lines_of_a_text_that_is_measured_are_named(run: Path, tmp_path: Path, capsys: Capture) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the cat sat\n\na dog\n")
    for arguments in (["evaluate", str(run), str(text)], ["compare", str(run), "--text", str(text)]):
        assert cli.main(arguments) == 0
        assert "1 of the first 4 lines is blank" in capsys.readouterr().err


def test_ones_own_text_by_the_name_of_a_known_one(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORDTIE_DATA", str(tmp_path / "data"))
    small_text(tmp_path / "bbc")
    (tmp_path / "data").mkdir()
    assert cli.main(["baseline", "bbc", "--order", "1"]) == DataError.exit_code  # which is never downloaded
    assert "note: bbc is the corpus that `wordtie corpora` lists; for your own give ./bbc" in capsys.readouterr().err
    assert cli.main(["baseline", "./bbc", "--order", "1"]) == 0
    assert "note" not in capsys.readouterr().err


def test_resume_where_nothing_is_says_so(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    small_text(tmp_path / "novel")
    command = ["train", "novel", *SMALL, "--out=~/runs/x", "--resume"]
    assert cli.main(command) == 0
    assert "no run to resume, so a new one starts" in capsys.readouterr().err
    assert (tmp_path / "runs" / "x" / "model.safetensors").exists()
    assert cli.main(command) == 0
    assert "no run is there" not in capsys.readouterr().err
    assert output(["predict", "~/runs/x", "the"], capsys)


def test_what_a_text_has_that_may_not_be_meant(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("novel.txt").write_text("the cat sat, and sat.\n\nthe dog ran, and ran.\n" * 60)
    assert cli.main(["train", "novel.txt", *SMALL, "--data.min_count", "1"]) == 0
    printed = capsys.readouterr()
    assert "text                   taken as raw: punctuation marks are words" in printed.out
    assert "note: <unk> does not occur in the training text" in printed.err
    assert re.search(r"note: 5\d of 16\d lines of the training text are blank", printed.err)
    assert re.search(r"note: \d of \d lines of the validation text are blank", printed.err)
    assert re.search(r"note: \d of \d lines of the test text are blank", printed.err)
    assert "worse than guessing" not in printed.err
    wild = ["--data.min_count", "1", "--training.lr", "30", "--training.clip", "5", "--out", "wild"]
    assert cli.main(["train", "novel.txt", *SMALL, *wild]) == 0
    assert "note: the model is worse than guessing: --lr is too high" in capsys.readouterr().err
    Path("ended.txt").write_text("the cat sat . <eos>\n" * 60)
    assert cli.main(["train", "ended.txt", *SMALL]) == 0
    assert "ended.txt: 60 of the first 61 lines have <eos>, beside" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "RUN", "the", "--top", "0"],
        ["predict", "RUN"],
        ["generate", "RUN", "--temperature", "0"],
        ["generate", "RUN", "--words", "many"],
        ["surprisal", "RUN", "--reset", "sometimes"],
        ["evaluate"],
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_read(arguments: list[str], capsys: Capture) -> None:
    assert cli.main(arguments) == 2
    assert f"see `wordtie {arguments[0]} --help`" in capsys.readouterr().err


def test_how_much_of_a_text_word2vec_reads(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> NoReturn:
        raise DataError("enough")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("wordtie.word2vec.run.train_word2vec", stop)
    Path("novel.txt").write_text("the cat sat\n" * 20)
    assert cli.main(["word2vec", "novel.txt"]) == DataError.exit_code
    assert "note: 90 % of the text is trained on, as by `wordtie train`" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["evaluate", "surprisal", "generate"])
def test_a_folder_that_is_no_run_is_said(name: str, tmp_path: Path, capsys: Capture) -> None:
    assert cli.main([name, str(tmp_path)]) == RunFolderError.exit_code
    assert capsys.readouterr().err.startswith(f"wordtie: error: {tmp_path}")


def test_evaluate_counts_what_it_has_done(run: Path, tmp_path: Path) -> None:
    """Also of a file that is removed meanwhile, and of one with a line end in its name."""
    model = wordtie.load(run)
    path = tmp_path / "a\nname.txt"
    path.write_text("the cat sat\n" * 50_000)
    seen: list[tuple[int, int]] = []

    def progress(_: str, done: int, total: int) -> None:
        path.unlink(missing_ok=True)
        seen.append((done, total))

    assert evaluate_file(model.model, model.tokenizer, str(path), progress=progress).tokens == 200_000
    evaluate_split(model, str(run), "valid", progress=progress)
    assert len(seen) > 2
    assert all(0 < done <= total for done, total in seen)


@pytest.mark.parametrize("order", [[], ["--order", "2"]])
def test_the_settings_of_an_n_gram_run_are_a_recipe(order: list[str], run: Path, tmp_path: Path) -> None:
    text, first, again = str(run.parent / "text"), tmp_path / "first", tmp_path / "again"
    assert cli.main(["ngram", text, "--order", "3", "--minimum-counts", "1", "2", "--out", str(first)]) == 0
    recipe = str(first / "settings.yaml")
    assert cli.main(["ngram", "--config", recipe, "--out", str(again), *order]) == 0
    made = yaml.safe_load((again / "settings.yaml").read_text())["ngram"]
    assert made == {"order": 2 if order else 3, "minimum_counts": [1, 2]}
    assert cli.main(["baseline", "--config", recipe]) == 0
