"""`wordtie predict --interactive` and `--jsonl`: an answer for each line, before the next is read."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import Capture, output, rows
from tests.inference.hand_made import hand_made
from wordtie import cli
from wordtie.inference import predict as predict_module
from wordtie.inference.predict_lines import NextWords, Options, answers

MODEL = hand_made()


def answered(lines: list[str], as_json: bool = False, options: Options | None = None) -> list[str]:
    given = (f"{line}\n".encode() for line in lines)
    return list(answers(NextWords(MODEL, options or Options()), given, "stdin", as_json))


def test_each_answer_is_that_of_predict_whatever_came_before() -> None:
    """Texts that go on from the last one, that are shorter, and that are others."""
    next_words = NextWords(MODEL, Options(top=7))
    for text in ("the", "the cat", "the cat s|", "the c|", "the cat sat", "sat", "", "the\ncat", "the\ncat sa|"):
        assert next_words(text) == MODEL.predict(text, top=7)


def test_what_was_read_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[list[str]] = []
    whole = predict_module.after

    def after(model: object, tokenizer: object, words: list[str], state: object) -> object:
        read.append(words)
        return whole(model, tokenizer, words, state)  # type: ignore[arg-type]

    monkeypatch.setattr("wordtie.inference.predict_lines.after", after)
    next_words = NextWords(MODEL, Options())
    for text in ("the cat", "the cat s|", "the cat sat", "the"):
        next_words(text)
    assert read == [["the", "cat"], [], ["sat"], ["the"]]


def test_plain_lines() -> None:
    found = answered(["the", "the c|", "the x|"], options=Options(top=2, words_only=True, blocked=["SAT"]))
    assert found == ["cat\t0.500000\nthe\t0.000000\n", "cat\t0.500000\n", ""]


def test_json_lines() -> None:
    requests = [{"text": "the", "top": 1}, {"text": "the", "top": 1, "blocked": ["cat"], "id": [1]}, {"text": "the c|"}]
    first, second, third = map(json.loads, answered([json.dumps(each) for each in requests], as_json=True))
    assert first == {"words": [{"word": "cat", "probability": 0.5}]}
    assert second == {"id": [1], "words": [{"word": "<unk>", "probability": 0.25}]}
    assert [each["word"] for each in third["words"]] == ["cat"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "stdin, line 1: Expecting property name"),
        ("{}", "stdin, line 1: text is missing"),
        ('{"text": 3}', "text must be a text, got 3"),
        ('{"text": "the", "tops": 3}', "unknown key tops; did you mean top?"),
        ('{"text": "the", "top": 0}', "top must be a whole number of at least 1"),
        ('{"text": "the", "blocked": "cat"}', "blocked must be a list"),
    ],
)
def test_a_mistaken_line_does_not_keep_the_next_from_its_answer(line: str, message: str) -> None:
    mistaken, good = map(json.loads, answered([line, '{"text": "the", "top": 1}'], as_json=True))
    assert message in mistaken["error"]
    assert good["words"][0]["word"] == "cat"


@pytest.mark.parametrize("wrong", ['"top": 0', '"text": 3', '"tops": 3', '"blocked": "cat"'])
def test_the_answer_to_a_mistaken_line_has_its_id(wrong: str) -> None:
    text = "" if "text" in wrong else '"text": "the", '
    (answer,) = map(json.loads, answered([f'{{{text}"id": 7, {wrong}}}'], as_json=True))
    assert (answer["id"], "error" in answer, "words" in answer) == (7, True, False)


def test_a_plain_line_that_is_not_utf8() -> None:
    found = list(answers(NextWords(MODEL, Options(top=1)), [b"th\xff\n", b"the\n"], "stdin", as_json=False))
    assert found[0].startswith("error: stdin, line 1: not UTF-8")
    assert found[1] == "cat\t0.500000\n"


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "wordtie", "predict", "en", "--jsonl", "--top", "1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        yield running


def test_an_answer_comes_before_the_next_line_is_given(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    for text, word in (("the president of the uni|", "united"), ("the president of the united sta|", "states")):
        process.stdin.write(json.dumps({"text": text}) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["words"][0]["word"] == word
    process.stdin.close()
    assert process.wait(timeout=60) == 0


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    blocked = tmp_path / "blocked.txt"
    blocked.write_text("United\n")
    common = ["predict", "en", "--top", "2", "--blocked", str(blocked)]
    once = rows(output([*common, "the president of the uni|"], capsys))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the president of the uni|\n")))
    lines = output([*common, "--interactive"], capsys)
    assert lines == "".join(f"{row['word']}\t{row['probability']}\n" for row in once) + "\n"
    assert once[0]["word"] == "union"
    for reader in (["--jsonl"], ["--interactive", "--jsonl"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"text": "the president of the uni|"}\n')))
        assert json.loads(output([*common, *reader], capsys))["words"][0]["word"] == "union"


@pytest.mark.parametrize("more", [["the"], ["--json"]])
def test_options_that_do_not_go_together(more: list[str], capsys: Capture) -> None:
    assert cli.main(["predict", "en", *more, "--interactive"]) == 2
    assert "--interactive reads phrases from stdin: leave" in capsys.readouterr().err
