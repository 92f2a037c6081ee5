"""A translation model in use: the command, one line out for each line in, n-best lists, unknown words."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import wordtie
from tests.parallel_text import tiny, write_pairs
from tests.runs.mutations import sealed
from wordtie.cli import main
from wordtie.errors import RunFolderError, SaveError, SettingsError
from wordtie.inference.translation import TranslationModel, load_translation
from wordtie.models.beam_search import NONE, Hypothesis, Search
from wordtie.training.translation import train_translation

pytest.importorskip("sacrebleu")
LINES = ["a b c", "", "f e", "  ", "a zzz c", "a\tb"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("translation")
    train_translation(tiny(write_pairs(folder / "text", reverse=True), epochs=9, keep="last"), folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def model(run: Path) -> TranslationModel:
    return wordtie.load_translation(run)


def test_lines_in_lines_out(run: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "in").write_text("\n".join(LINES) + "\n")
    assert main(["translate", str(run), str(tmp_path / "in")]) == 0
    out = capfd.readouterr().out.split("\n")
    assert out[:4] == ["c b a", "", "e f", ""]
    assert len(out) == len(LINES) + 1


def test_stdin_is_answered_line_by_line(run: Path) -> None:
    """Whoever writes a line and waits for its translation is not kept waiting for more lines."""
    command = [sys.executable, "-m", "wordtie", "translate", str(run)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line, translation in (("a b\n", "b a\n"), ("\n", "\n"), ("c\n", "c\n")):
            process.stdin.write(line.encode())
            process.stdin.flush()
            assert process.stdout.readline().decode() == translation
        process.stdin.write(b"d e")  # without its end
        process.stdin.close()
        assert process.stdout.read() == b"e d\n"
    assert process.returncode == 0


NOT_TEXT = b"a b\n\xff\nc\0d\r\ne\xe2\x80\xa8f\n"


def test_a_line_that_is_no_text_costs_no_other(run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_bytes(NOT_TEXT)
    assert main(["translate", str(run), str(tmp_path / "in")]) == 0
    printed = capfd.readouterr()
    lines = printed.out.split("\n")
    assert (lines[0], lines[2], len(lines)) == ("b a", "d c", 5)
    assert f"{tmp_path / 'in'}, line 2: not UTF-8" in printed.err
    assert "line 3: a NUL byte" in printed.err
    piped = subprocess.run(
        [sys.executable, "-m", "wordtie", "translate", str(run)], input=NOT_TEXT, capture_output=True, check=True
    )
    assert piped.stdout.decode() == printed.out


def test_a_line_without_end(run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_text("a\n" + "b " * 3000 + "\nc\n")
    assert main(["translate", str(run), str(tmp_path / "in"), "--beam", "1"]) == 0
    printed = capfd.readouterr()
    lines = printed.out.split("\n")
    assert (lines[0], lines[2], len(lines)) == ("a", "c", 4)
    assert "line 2: is longer than 1,000 words; the last 2,000 are not translated" in printed.err


def test_utf_16_is_refused(run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_text("a b\n", encoding="utf-16")
    assert main(["translate", str(run), str(tmp_path / "in")]) == 3
    assert "line 1: UTF-16" in capfd.readouterr().err


@pytest.mark.parametrize("power", ["nan", "inf", "-1", "400"])
def test_a_power_of_the_length_is_small(run: Path, power: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", str(run), os.devnull, "--length-power", power]) == 2
    assert "must be in [0, 10]" in capfd.readouterr().err


def test_n_best_lists_as_moses_writes_them(run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_text("a b c\nd\n")
    assert main(["translate", str(run), str(tmp_path / "in"), "--n-best", "3"]) == 0
    rows = [line.split(" ||| ") for line in capfd.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == ["0"] * 3 + ["1"] * 3
    assert rows[0][1] == "c b a"
    totals = [float(row[3]) for row in rows[:3]]
    assert totals == sorted(totals, reverse=True)
    label, log_p, _, length = rows[0][2].split()
    assert label == "LogP="
    assert float(log_p) / int(length) == pytest.approx(totals[0], abs=1e-5)


def test_json_has_scores_and_attention(run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_text("a b c\n")
    assert main(["translate", str(run), str(tmp_path / "in"), "--json", "--beam", "2"]) == 0
    (found,) = map(json.loads, capfd.readouterr().out.splitlines())
    assert found["text"] == "c b a"
    assert found["units"] == ["c", "b", "a", "<eos>"]
    assert found["source_units"] == ["a", "b", "c", "<eos>"]
    assert [row.index(max(row)) for row in found["attention"][:3]] == [2, 1, 0]
    assert [len(row) for row in found["attention"]] == [4] * 4


@pytest.mark.parametrize("word", ["a", "Zebra", "\x1c"])  # the last is white space to Python, not to `tokenizers`
def test_unknown_words_are_taken_from_the_source(model: TranslationModel, word: str) -> None:
    model.network.head.bias.data[model.tokenizer.target.vocabulary.unk_id] = 100  # type: ignore[union-attr]
    try:
        (plain,), (replaced,) = (
            model.n_best([word], 1, Search(1, max_length=2), replace_unknown=each)[0] for each in (False, True)
        )
    finally:
        model.network.head.bias.data[model.tokenizer.target.vocabulary.unk_id] = 0  # type: ignore[union-attr]
    assert (plain.text, replaced.text) == ("<unk>", word)
    assert replaced.units == ("<unk>", "<eos>")


def test_an_unknown_word_is_the_one_attended_to(model: TranslationModel) -> None:
    """Each `<unk>` becomes the source word that has most of its own row of the attention."""
    bias = model.network.head.bias
    assert bias is not None
    unk, eos = model.tokenizer.target.vocabulary.unk_id, model.tokenizer.target.vocabulary.eos_id
    before = bias.data.clone()
    bias.data[:] = -100.0
    bias.data[[unk, eos]] = torch.tensor([0.0, -30.0])
    try:
        ((found,),) = model.n_best(["a b c"], 1, Search(1, max_length=4), replace_unknown=True)
    finally:
        bias.data[:] = before
    assert found.units == ("<unk>", "<unk>", "<unk>", "<eos>")
    assert found.attention is not None
    attended = [row.index(max(row[:3])) for row in found.attention[:3]]
    assert len(set(attended)) > 1
    assert found.text == " ".join("abc"[place] for place in attended)


def test_a_word_that_was_not_read_is_in_no_translation(
    model: TranslationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if most of the attention is on `<eos>`, behind the last word that was read."""
    attention_TS = np.array([[0.1, 0.2, 0.7]] * 2, np.float32)
    found = Hypothesis([model.tokenizer.target.vocabulary.unk_id], -1.0, -0.5, attention_TS)
    monkeypatch.setattr("wordtie.inference.translation.LONGEST_LINE", 2)
    monkeypatch.setattr("wordtie.inference.translation.translate_ids", lambda *_: [[found]])
    ((replaced,),) = model.n_best(["a b c"], 1, replace_unknown=True)
    assert (replaced.text, replaced.not_read) == ("b", 1)


def test_json_has_no_number_for_what_is_not_finite(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordtie.inference.translation.translate_ids", lambda *_: [[NONE]])
    (tmp_path / "in").write_text("a\n")
    assert main(["translate", str(run), str(tmp_path / "in"), "--json"]) == 0
    found = json.loads(capfd.readouterr().out, parse_constant=pytest.fail)
    assert (found["text"], found["log_p"], found["score"]) == ("", None, None)


def test_one_string_is_no_list_of_lines(model: TranslationModel) -> None:
    with pytest.raises(SettingsError, match="give a list of lines, not one string"):
        model.translate("a b")
    with pytest.raises(SettingsError, match="give a list of lines, not one string"):
        model.n_best("a b", 1)


def test_more_translations_than_the_beam_are_refused(model: TranslationModel) -> None:
    with pytest.raises(SettingsError, match="6 translations need a beam of at least 6, not 5"):
        model.n_best(["a"], 6, Search(5))


def test_what_a_model_is(model: TranslationModel, run: Path) -> None:
    assert repr(model).startswith("TranslationModel(en to de, decoder, ")
    with pytest.raises(RunFolderError, match=r"holds a translation model.*`wordtie translate`"):
        wordtie.load(run)


def test_damage_is_found(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    (copy / "tokenizer.json").write_text("{}")
    with pytest.raises(RunFolderError, match=r"tokenizer\.json: damaged"):
        load_translation(copy)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"truncation": {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}},
            "truncation",
        ),
        ({"normalizer": {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""}}, "normalizer"),
        ({"decoder": {"type": "Fuse"}}, "decoder"),
    ],
)
def test_a_tokenizer_has_the_steps_that_training_writes(
    run: Path, tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    """Others would cut sentences without a word, or take forever, although the file fits its seal."""
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    file = copy / "tokenizer.json"
    content = json.loads(file.read_text())
    for side in [content["source"], content["target"]] if "source" in content else [content]:
        side.update(change)
    file.write_text(json.dumps(content))
    sealed(copy)
    with pytest.raises(RunFolderError, match=rf"tokenizer\.json: damaged \({says}"):
        load_translation(copy)
    file.write_text("[" * 100_000)
    sealed(copy)
    with pytest.raises(RunFolderError, match="nested deeper"):
        load_translation(copy)


def test_prepare_counts_what_is_shared(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = write_pairs(tmp_path / "text")
    arguments = ["translate", "prepare", str(text), "--units", "words", "--min-count", "1"]
    assert main([*arguments, "--out", str(tmp_path / "tokenizer.json")]) == 0
    printed = capfd.readouterr().out
    assert "both         6 words (100%)" in printed
    assert "left out     0 training pairs for their length or an empty side, 0 for a repeated sentence" in printed
    for out in (tmp_path / "tokenizer.json", next(each for each in sorted(text.rglob("*")) if each.is_file())):
        before = out.read_bytes()
        assert main([*arguments, "--out", str(out)]) == SaveError.exit_code
        assert f"{out}: is there already: give another name" in capfd.readouterr().err
        assert out.read_bytes() == before
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["both"] == 6
    assert set(json.loads((tmp_path / "tokenizer.json").read_text())) == {"source", "target"}
    assert main(["translate", "prepare", "--help"]) == 0
    assert "of other units an object of two" in " ".join(capfd.readouterr().out.split())


def test_train_prints_what_came_out(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = write_pairs(tmp_path / "text", train=60)
    arguments = ["translate", "train", str(text), "--units", "words", "--min_count", "1", "--tying", "none",
                 "--hidden", "8", "--embedding", "4", "--epochs", "1", "--out", str(tmp_path / "run")]  # fmt: skip
    assert main(arguments) == 0
    out = capfd.readouterr().out
    assert "test         BLEU" in out
    assert "tok:none" in out
    assert main([*arguments, "--print-config"]) == 0
    assert "tying: none" in capfd.readouterr().out
    assert main(arguments) == 4
    assert main([*arguments, "--resume", "--overwrite"]) == 2
