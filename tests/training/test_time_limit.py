"""`--max-time` covers measuring, and a result says what was trained in it."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from wordtie import cli
from wordtie.config import DataSettings, ModelSettings, Settings, TrainingSettings
from wordtie.training.language_modelling import LanguageModelling
from wordtie.training.train import train

Capture = pytest.CaptureFixture[str]


def settings(text: Path, limit: str) -> Settings:
    return Settings(
        DataSettings(str(text)),
        ModelSettings(hidden=8),
        training=TrainingSettings(epochs=100_000, patience=0, streams=4, steps=7, threads=1, max_time=limit),
    )


def test_training_ends_early_enough_to_be_measured(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LanguageModelling, "seconds_to_measure", lambda self: 4.0)
    started = time.monotonic()
    result = train(settings(text, "6s"), tmp_path / "run")
    assert result.stopped == "max_time"
    assert time.monotonic() - started < 5.5, "2 s of training and the short measurement of a tiny text"


def test_at_least_half_of_the_time_is_training(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LanguageModelling, "seconds_to_measure", lambda self: 1e6)
    result = train(settings(text, "2s"), tmp_path / "run")
    assert result.seconds >= 1
    assert result.tokens_seen


def test_the_estimate_is_of_the_whole_texts(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times the test text takes longer to measure."""
    found: list[float] = []
    estimate = LanguageModelling.seconds_to_measure

    def noted(self: LanguageModelling) -> float:
        self._score(self.data.valid)  # so that the first estimate does not pay for the first call of the kernels
        found.append(min(estimate(self) for _ in range(3)))
        return found[-1]

    monkeypatch.setattr(LanguageModelling, "seconds_to_measure", noted)
    train(settings(text, "0.5s"), tmp_path / "short")
    (text / "test.txt").write_text((text / "test.txt").read_text() * 20)
    train(settings(text, "0.5s"), tmp_path / "long")
    assert found[1] > 2 * found[0]


def test_a_part_of_an_epoch_is_reported(text: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(text.parent)
    arguments = ["train", "text", "--hidden", "8", "--streams", "1", "--steps", "1", "--max-time", "0.2s"]
    assert cli.main([*arguments, "--out", "run"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("trained"))
    seconds = r"\d+ s, \d+ s of counting and mixing, and \d+ s of measuring"
    found = re.fullmatch(rf"trained +0\.\d+ epochs, (\d+) tokens, in {seconds} \(max_time\)", line)
    assert found, line
    assert int(found[1]) > 0
