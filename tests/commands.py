"""The commands as a user meets them: a text of a few words, settings of a small model, and what is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny_run import AS_IN_PAPERS
from wordtie import cli

Capture = pytest.CaptureFixture[str]
SMALL = [
    *AS_IN_PAPERS,
    *("--model.hidden", "6", "--training.epochs", "2", "--training.streams", "2", "--training.steps", "5"),
    *("--training.threads", "1"),
]


def small_text(folder: Path, word: str = "dog") -> Path:
    """A folder with train.txt, valid.txt and test.txt, the last of 28 tokens."""
    folder.mkdir()
    for split, times in (("train", 40), ("valid", 3), ("test", 2)):
        (folder / f"{split}.txt").write_text(f"the cat sat on the mat\nthe {word} sat on the cat\n" * times)
    return folder


def output(arguments: list[str], capsys: Capture) -> str:
    """What a command prints that does its work."""
    capsys.readouterr()
    assert cli.main(arguments) == 0
    return capsys.readouterr().out


def rows(table: str) -> list[dict[str, str]]:
    """A printed table by its header."""
    header, *lines = (line.split("\t") for line in table.splitlines())
    return [dict(zip(header, line, strict=True)) for line in lines]
