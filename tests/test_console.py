"""Messages on stderr, and that they can be silenced."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

import wordtie
from tests.commands import Capture
from wordtie.console import amount, say


def test_the_level_of_the_logger_silences_notes_and_progress(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    small: dict[str, Any] = {"hidden": 8, "epochs": 1, "threads": 1, "ngram": 2}
    wordtie.train(text, tmp_path / "loud", **small)
    say(["of a user"])
    shown = capsys.readouterr().err
    assert "validation perplexity" in shown
    assert "note: of a user\n" in shown
    with caplog.at_level(logging.ERROR, logger="wordtie"):
        wordtie.train(text, tmp_path / "silent", **small)
        say(["of a user"])
        assert capsys.readouterr() == ("", "")
    say(["of a user"])
    assert capsys.readouterr().err == "note: of a user\n"


def test_one_is_no_plural() -> None:
    assert [amount(count, "layer") for count in (0, 1, 2, 1000)] == ["0 layers", "1 layer", "2 layers", "1,000 layers"]
