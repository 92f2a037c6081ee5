"""Stimuli to a fitted model, on the command line: LSTM, n-grams, their mixture, and means over seeds."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.reading_times import BEGIN, END, PAGE, RESULTS, table
from tests.commands import Capture, output
from tests.tiny_run import AS_IN_PAPERS
from wordtie import cli
from wordtie.commands.pairs import combined
from wordtie.errors import DataError
from wordtie.reproduction.render.generated_blocks import parts

SENTENCES = ["The cat sat.", "The dog, too, sat.", "A cat saw the dog.", "The old dog sat.", "A dog saw a cat."]
RUNS = ["network", "seed-2", "ngram", "mixture"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("linguists")
    (folder / "text").mkdir()
    for split, times in (("train", 30), ("valid", 3), ("test", 2)):
        (folder / "text" / f"{split}.txt").write_text("".join(f"{line}\n" for line in SENTENCES * times))
    text = str(folder / "text")
    small = [*AS_IN_PAPERS, "--model.hidden", "6", "--training.epochs", "1", "--training.streams", "2"]
    small += ["--training.steps", "5", "--training.threads", "1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        for seed, name in (("1", "network"), ("2", "seed-2")):
            assert cli.main(["train", text, "--out", str(folder / name), *small, "--training.seed", seed]) == 0
        assert cli.main(["ngram", text, "--out", str(folder / "ngram")]) == 0
        assert cli.main(["mix", *(str(folder / each) for each in RUNS[::2]), "--out", str(folder / "mixture")]) == 0
    return folder


@pytest.fixture
def times(tmp_path: Path) -> Path:
    """Each sentence twice, with a time for every word but some; a byte-order mark and Windows line ends."""
    generator = np.random.default_rng(1)
    lines = ["item,word,rt"]
    for item, sentence in enumerate(SENTENCES * 4):
        lines += [f'{item},"{word}",{"NA" if n == 2 else generator.integers(200, 400)}'
                  for n, word in enumerate(sentence.split())]  # fmt: skip
    path = tmp_path / "times.csv"
    path.write_bytes(("\ufeff" + "\r\n".join(lines) + "\r\n").encode())
    return path


def read(text: str, delimiter: str = "\t") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter=delimiter))


@pytest.mark.parametrize("kind", RUNS)
def test_from_a_table_to_a_gain(kind: str, runs: Path, times: Path, tmp_path: Path, capsys: Capture) -> None:
    joined = tmp_path / "joined.tsv"
    asked = ["surprisal", str(runs / kind), str(times), "--words", "word", "--by", "item", "--spillover", "1"]
    assert output([*asked, "--out", str(joined)], capsys) == ""
    found = read(joined.read_text())
    assert [(row["item"], row["word"], row["rt"]) for row in found] == [
        (row["item"], row["word"], row["rt"]) for row in read(times.read_text("utf-8-sig"), ",")
    ]
    tokens = read(output(["surprisal", str(runs / kind), str(text_of(tmp_path))], capsys))
    by_region: dict[tuple[str, str], float] = {}
    for token in tokens:
        if token["word"] != "<eos>":
            key = token["line"], token["region"]
            by_region[key] = by_region.get(key, 0.0) + float(token["surprisal_bits"])
    assert {(r["line"], r["region"]): float(r["surprisal_bits"]) for r in found} == pytest.approx(by_region, abs=1e-4)
    figure = tmp_path / "gain.svg"
    fit = ["reading-times", str(joined), "--rt", "rt", "--item", "item", "--folds", "4", "--figure", str(figure)]
    (result,) = json.loads(output([*fit, "--json"], capsys))
    assert result["items"] == 20
    assert result["words"] == sum(row["rt"] != "NA" and row["region"] != "1" for row in found)
    assert figure.exists()
    (alone,) = json.loads(output([*fit, "--spillover", "0", "--json"], capsys))
    assert alone["words"] == sum(row["rt"] != "NA" for row in found)
    both = read(output([*fit, "--surprisal", "surprisal_bits", "word_surprisal_bits"], capsys))
    assert [row["surprisal"] for row in both] == ["surprisal_bits", "word_surprisal_bits"]
    difference = float(both[1]["gain_nats"]) - float(both[0]["gain_nats"])
    assert float(both[1]["beyond_first_nats"]) == pytest.approx(difference, abs=2e-6)


def text_of(folder: Path) -> Path:
    path = folder / "sentences.txt"
    path.write_text("\n".join(SENTENCES) + "\n")
    return path


def test_the_mean_of_seeds(runs: Path, times: Path, capsys: Capture) -> None:
    asked = [str(times), "--words", "word", "--by", "item"]
    one, two = (read(output(["surprisal", str(runs / name), *asked], capsys)) for name in RUNS[:2])
    both = read(output(["surprisal", str(runs / "network"), str(runs / "seed-2"), *asked, "--mean"], capsys))
    for a, b, mean in zip(one, two, both, strict=True):
        values = [float(each["surprisal_bits"]) for each in (a, b)]
        assert float(mean["surprisal_bits"]) == pytest.approx(np.mean(values), abs=2e-6)
        assert float(mean["surprisal_bits_sd"]) == pytest.approx(np.std(values, ddof=1), abs=2e-6)
    tokens = ["surprisal", str(runs / "network"), str(runs / "network"), "-", "--mean"]
    assert cli.main(["surprisal", str(runs / "network"), "--mean"]) == 2
    assert cli.main([*tokens[:3], "x.txt"]) == 2
    assert "several RUNs need --mean" in capsys.readouterr().err


def test_no_header_is_printed_before_a_column_that_is_not_there(runs: Path, times: Path, capsys: Capture) -> None:
    for words, by in (("wrd", "item"), ("word", "itm")):
        assert cli.main(["surprisal", str(runs / "ngram"), str(times), "--words", words, "--by", by]) == 3
        printed = capsys.readouterr()
        assert (printed.out, "has no column" in printed.err) == ("", True)


def test_misread_words_are_said_of_a_word_a_row_too(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "text.txt").write_text("the cat sat\nthe dog sat\n" * 200)
    assert cli.main(["ngram", str(tmp_path / "text.txt"), "--out", str(tmp_path / "run")]) == 0
    (tmp_path / "words.csv").write_text("item,word\n1,THE\n1,CAT\n1,SAT\n")
    capsys.readouterr()
    asked = ["surprisal", str(tmp_path / "run"), str(tmp_path / "words.csv"), "--words", "word", "--by", "item"]
    assert cli.main(asked) == 0
    assert "unknown because of their capitals: THE CAT SAT" in capsys.readouterr().err


def test_sentences_per_row_keep_their_columns(runs: Path, tmp_path: Path, capsys: Capture) -> None:
    items = tmp_path / "items.csv"
    items.write_text('id,sentence\n7,"The dog, | too, sat."\n8,\n9,"""A cat"""\n')
    asked = ["surprisal", str(runs / "ngram"), str(items), "--column", "sentence"]
    found = read(output([*asked, "--per", "region", "--mark", "|"], capsys))
    assert [(row["id"], row["sentence"], row["line"], row["word"]) for row in found] == [
        ("7", "The dog, | too, sat.", "1", "The dog,"), ("7", "The dog, | too, sat.", "1", "too, sat."),
        ("9", '"A cat"', "3", '"A cat"'),
    ]  # fmt: skip
    (tmp_path / "no-mark.csv").write_text('id,sentence\n7,"The dog, too, sat."\n')
    tokens = read(output([*asked[:2], str(tmp_path / "no-mark.csv"), *asked[3:]], capsys))
    assert [row["id"] for row in tokens] == ["7"] * 8  # The dog , too , sat . <eos>
    assert sum(float(row["surprisal_bits"]) for row in tokens[:-1]) == pytest.approx(
        sum(float(row["surprisal_bits"]) for row in found[:2]), abs=1e-4
    )
    prefixed = json.loads(output([*asked, "--per", "region", "--prefix", "kn_", "--json"], capsys))
    assert list(prefixed[0])[:4] == ["id", "sentence", "kn_line", "kn_region"]
    out = tmp_path / "out.csv"
    output([*asked, "--per", "region", "--out", str(out)], capsys)
    assert read(out.read_text(), ",")[0]["word"] == "The"


def test_a_table_is_not_scored_as_text(
    runs: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.tsv").write_text("\ufeffitem\tsentence\r\n1\tThe cat sat.\r\n")
    Path("items.tsv.gz").write_bytes(gzip.compress(Path("items.tsv").read_bytes()))
    network, columns = str(runs / "network"), "looks like a table with the columns item, sentence: "
    for name in ("items.tsv", "items.tsv.gz"):
        assert cli.main(["surprisal", network, name, "--out", "out.tsv"]) == 3
        assert capsys.readouterr().err.startswith(f"wordtie: error: {name}: {columns}name the one to score with ")
        assert not Path("out.tsv").exists()
        assert cli.main(["evaluate", network, name]) == 0
        assert capsys.readouterr().err.startswith(f"note: {name} {columns}")
        assert cli.main(["surprisal", network, name, "--column", "sentence"]) == 0
        assert cli.main(["surprisal", network, name, "--per", "region", "--mark", "\t"]) == 0
        assert "table" not in capsys.readouterr().err
    Path("items").write_bytes(Path("items.tsv").read_bytes())
    assert cli.main(["surprisal", network, "items"]) == 0
    assert "note: items: each of the first 2 lines has 1 tab, as in a table" in capsys.readouterr().err


def test_json_has_no_room_for_columns_of_one_name(runs: Path, tmp_path: Path, capsys: Capture) -> None:
    items = tmp_path / "items.csv"
    items.write_text("item,word,note,note\n1,the,first,second\n")
    asked = ["surprisal", str(runs / "ngram"), str(items), "--words", "word", "--by", "item"]
    assert "first\tsecond" in output(asked, capsys)
    assert cli.main([*asked, "--json"]) == DataError.exit_code
    assert "line 1: has several columns note, JSON only one" in capsys.readouterr().err


def test_quotation_marks_that_nobody_doubled(runs: Path, tmp_path: Path, capsys: Capture) -> None:
    """As R writes them with `quote = FALSE`: rows up to the next mark would be one word."""
    path = tmp_path / "times.tsv"
    path.write_text('item\tword\trt\n1\t"Oh\t300\n1\tno,"\t310\n1\tshe\t280\n')
    assert cli.main(["surprisal", str(runs / "ngram"), str(path), "--words", "word", "--by", "item"]) == 3
    assert "line 2: a quotation mark opens a cell that goes on in later rows" in capsys.readouterr().err
    counts = tmp_path / "counts.csv"
    counts.write_text('word,count\n",90\ncat,80\n",70\n')
    sentences = tmp_path / "text.txt"
    sentences.write_text("The cat sat.\n")
    asked = ["surprisal", str(runs / "ngram"), str(sentences), "--per", "region", "--frequencies", str(counts)]
    assert cli.main(asked) == DataError.exit_code
    assert "counts.csv, line " in capsys.readouterr().err


def test_log_frequencies(runs: Path, tmp_path: Path, capsys: Capture) -> None:
    counts = tmp_path / "counts.csv"
    text = tmp_path / "text.txt"
    text.write_text("The cat\n")
    asked = ["surprisal", str(runs / "ngram"), str(text), "--per", "region"]
    for word in ("The", "the"):
        counts.write_text(f"word,count\n{word},99\n")
        found = read(output([*asked, "--frequencies", str(counts)], capsys))
        assert [row["log_frequency"] for row in found] == ["6.000000", "4.000000"]
    capsys.readouterr()
    assert cli.main([*asked, "--frequencies", str(counts)]) == 0
    assert f"note: {counts} has no count of cat: log_frequency is that of a word never seen" in capsys.readouterr().err
    own = (runs / "text" / "train.txt").rename(runs / "text" / "moved.txt")
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
            assert cli.main(asked) == 0
    finally:
        own.rename(runs / "text" / "train.txt")
    printed = capsys.readouterr()
    assert [row["log_frequency"] for row in read(printed.out)] == ["", ""]
    assert "note: log_frequency stays empty" in printed.err


def test_pairs(runs: Path, tmp_path: Path, capsys: Capture) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.csv"
    first.write_text('{"sentence_good": "The cat sat.", "sentence_bad": "cat The sat."}\n')
    second.write_text("sentence_good,sentence_bad\nThe bird sat.,The fish sat.\nThe dog sat.,dog The sat.\n")
    found = read(output(["pairs", str(runs / "ngram"), str(first), str(second)], capsys))
    assert [tuple(row.values()) for row in found] == [
        ("first", "1", "1.000000", "0", "0", "1.000000"),
        ("second", "2", "0.750000", "1", "1", "1.000000"),
        ("all", "3", "0.833333", "1", "1", "1.000000"),
    ]  # fmt: skip
    models = [str(runs / name) for name in RUNS]
    means = json.loads(output(["pairs", *models, str(second), "--mean", "--json"], capsys))
    assert (means[0]["ties"], means[0]["oov_pairs"]) == (1, 1)
    assert means[0]["accuracy_sd"] >= 0
    assert cli.main(["pairs", models[0], "en", str(second), "--mean"]) == 2
    assert "a mean needs models of one vocabulary" in capsys.readouterr().err
    assert cli.main(["pairs", str(runs / "ngram"), str(second), "--mean"]) == 2
    assert cli.main(["pairs", str(runs / "ngram"), str(second), "--good", "ok"]) == DataError.exit_code


def test_ties_are_averaged_as_accuracies_are() -> None:
    row: dict[str, object] = {"set": "x", "pairs": 4, "accuracy": 0.5, "ties": 1, "oov_pairs": 4}
    row["accuracy_without_oov"] = None
    (found,) = combined([[row], [row | {"ties": 2}]])
    assert (found["accuracy"], found["ties"], found["accuracy_without_oov"]) == (0.5, 1.5, None)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--words", "word"], "needs both --words and --by: add --by, the columns"),
        (["--by", "item"], "needs both --words and --by: add --words, the column of words"),
        (["--words", "word", "--by", "item", "--column", "word"], "give one"),
        (["--words", "word", "--by", "item", "--reset", "never"], "--reset blank keeps context within a passage"),
        (["--words", "word", "--by", "item", "--per", "token"], "leave --per and --mark out"),
        (["--spillover", "2"], "--spillover is for regions: add --per region"),
        (
            ["--words", "word", "--by", "item", "--out", "table.tsv.gz"],
            "tables are not compressed: leave the ending out, or pipe them into gzip",
        ),
        (["--column", "rt", "--mark", "|"], "--mark is for regions"),
        (["--column", "rt", "--per", "region", "--mark", ""], "--mark is empty: give the character that parts regions"),
    ],
)
def test_options_that_make_no_sense(arguments: list[str], says: str, times: Path, runs: Path, capsys: Capture) -> None:
    assert cli.main(["surprisal", str(runs / "ngram"), str(times), *arguments]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("command", ["surprisal", "pairs", "reading-times"])
def test_the_help_fits_a_screen(command: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    lines = output([command, "--help"], capsys).splitlines()
    assert len(lines) <= 50
    assert "examples:" in lines


def test_the_table_of_the_page_is_that_of_the_results() -> None:
    found = parts(PAGE, BEGIN, END)
    assert found is not None
    assert found[1] == f"\n{table(RESULTS)}"
