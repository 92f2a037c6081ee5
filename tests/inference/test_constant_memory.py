"""A text of any length is scored in the same memory: what Python and numpy hold, counted to the byte."""

from __future__ import annotations

import io
import json
import os
import sys
import tracemalloc
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Capture
from wordtie import cli
from wordtie.commands._shared import print_json, print_json_list
from wordtie.config import ModelSettings, Settings
from wordtie.data import reading
from wordtie.data.tokenisation import Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.evaluation import perplexity
from wordtie.inference import surprisal
from wordtie.models.language_model import LanguageModel
from wordtie.runs.run_folder import SavedModel, write_language_model

LONGER, LINE = 8, 20
"""How many times as long the longer text is, and words a line."""
SCORING = ("evaluate", 4_000, 2)
"""The command, words of the short text, and bytes for each word more that are noise: an id that was kept has four."""
PRINTING = ("surprisal", 500, 40)
"""The same; whatever was kept of a word that is printed would take a hundred."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder of a model that nobody has trained."""
    folder = tmp_path_factory.mktemp("memory") / "run"
    vocabulary = Vocabulary([EOS, UNK, "a", "b", "c"])
    settings = Settings(model=ModelSettings(hidden=4))
    model = LanguageModel(settings.model, len(vocabulary))
    tokenizer = Tokenizer(Tokenisation("space", lowercase=False, sentences=True), vocabulary)
    write_language_model(folder, SavedModel(settings, model.state_dict(), tokenizer))
    return folder


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch, set_threads: Callable[[int], None]) -> None:
    """A text is read in blocks, and scored in windows, so small that the short one too has many of them."""
    monkeypatch.setattr(reading, "BLOCK", 1 << 10)
    monkeypatch.setattr(reading, "PIECE", 1 << 8)
    for module in (surprisal, perplexity):
        monkeypatch.setattr(module, "TOKENS_AT_ONCE", 64)
    set_threads(1)  # so many small products would wait for one another on a busy machine


def write(path: Path, words: int, line: int = LINE) -> Path:
    """The same few words again and again, one of them unknown."""
    text = islice(cycle(["a", "b", "c", "d"]), words)
    ends = (f"{word}\n" if n % line == 0 else f"{word} " for n, word in enumerate(text, 1))
    path.write_text("".join(ends))
    return path


def peak(arguments: list[str], stdin: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Bytes at most, of a command whose output goes nowhere."""
    with stdin.open("rb") as handle, Path(os.devnull).open("w", encoding="utf-8") as out:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(handle))
        monkeypatch.setattr(sys, "stdout", out)
        tracemalloc.start()
        try:
            assert cli.main(arguments) == 0
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("command", "options"),
    [
        (SCORING, ["TEXT"]),
        (PRINTING, ["TEXT"]),
        (PRINTING, ["TEXT", "--reset", "never"]),
        (PRINTING, ["--reset", "never"]),
        (PRINTING, ["TEXT", "--reset", "never", "--json"]),
    ],
)
def test_a_longer_text_needs_no_more(
    command: tuple[str, int, int], options: list[str], run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, words, noise = command
    found = []
    for times in (LONGER, 1, LONGER):  # the first fills what Python keeps for objects to come
        text = write(tmp_path / "TEXT", words * times)
        arguments = [name, str(run), *(str(text) if option == "TEXT" else option for option in options)]
        found.append(peak(arguments, text, monkeypatch))
    assert (found[2] - found[1]) / (words * (LONGER - 1)) < noise


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("reset", ["line", "never"])
def test_a_long_line_needs_little_beside_itself(
    reset: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line is held whole, in its bytes and decoded, two for each word; its words are not."""
    name, words, noise = PRINTING
    found = []
    for times in (LONGER, 1, LONGER):
        text = write(tmp_path / "TEXT", words * times, line=words * times)
        found.append(peak([name, str(run), str(text), "--reset", reset], text, monkeypatch))
    assert (found[2] - found[1]) / (words * (LONGER - 1)) < noise


@pytest.mark.parametrize("items", [[], [{"word": "a\u2028\n", "list": [1, {}]}], [1, "ü", [], {"a": None}]])
def test_a_list_is_printed_alike_item_by_item(items: list[Any], capsys: Capture) -> None:
    print_json(items)
    whole = capsys.readouterr().out
    print_json_list(iter(items))
    assert capsys.readouterr().out == whole
    assert json.loads(whole) == items
