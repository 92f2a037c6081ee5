"""Budgets of tokens, and rates from step to step."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordtie.config import DataSettings, LossSettings, ModelSettings, Settings, TrainingSettings
from wordtie.config.keywords import settings_from
from wordtie.config.unused_settings import unused_settings
from wordtie.data.prepare import prepare
from wordtie.errors import RunFolderError
from wordtie.runs.compatibility import changed_settings
from wordtie.runs.metrics import finished_epochs
from wordtie.runs.result import Position
from wordtie.training import trainer
from wordtie.training.schedule import Budget, budget_of, rate_of_step, why_finished
from wordtie.training.train import of_the_end, train

COSINE = TrainingSettings(
    optimiser="adam", lr=0.01, schedule="cosine", warmup=3, tokens=1000, validations=4, patience=0, streams=4, steps=7,
    threads=1,
)  # fmt: skip


@pytest.fixture
def settings(text: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("XDG_CACHE_HOME", str(text.parent / "cache"))
    model = ModelSettings(hidden=8, hidden_dropout=0.0)
    return Settings(DataSettings(corpus=str(text)), model, LossSettings(kind="cross_entropy"), training=COSINE)


def test_the_cosine_falls_from_the_rate_to_nothing() -> None:
    budget = Budget(windows=100, windows_per_epoch=40)
    settings = replace(COSINE, warmup=0)
    rates = [rate_of_step(settings, budget, Position(epoch=1 + step // 40), step) for step in range(101)]
    assert rates[0] == 0.01
    assert rates[50] == pytest.approx(0.005)
    assert rates[100] == pytest.approx(0.0)
    assert all(later < earlier for earlier, later in pairwise(rates))


@pytest.mark.parametrize("schedule", ["epoch", "plateau", "cosine"])
def test_the_first_steps_rise_to_the_rate(schedule: Any) -> None:
    settings, budget = replace(COSINE, schedule=schedule, warmup=4), Budget(10**6, 10**6)
    rates = [rate_of_step(settings, budget, Position(window=step), step) for step in range(6)]
    assert rates == pytest.approx([0.0025, 0.005, 0.0075, 0.01, 0.01, 0.01])


@pytest.mark.parametrize("validations", [None, 1, 3, 7, 1000])
@pytest.mark.parametrize("windows", [1, 5, 40, 41, 99, 120])
def test_validations_are_spread_and_the_last_is_at_the_end(windows: int, validations: int | None) -> None:
    budget = Budget(windows, 40, validations)
    after = [budget.after(number) for number in range(budget.measurements + 1)]
    assert after[0] == 0
    assert after[-1] == windows
    gaps = np.diff(after)
    assert gaps.min() >= 1
    if validations:
        assert gaps.max() - gaps.min() <= 1
    for done in range(windows + 1):
        assert budget.due(done) == sum(point <= done for point in after[1:])


def test_fewer_epochs_than_were_trained_end_the_run() -> None:
    """`epochs` may change when a run resumes."""
    budget = budget_of(TrainingSettings(epochs=2), 10, 1000)
    assert budget.due(45) == 4
    assert (
        why_finished(TrainingSettings(epochs=2), budget, Position(epoch=5, window=5, history=[3.0] * 4)) == "finished"
    )


def test_a_run_ends_within_an_epoch_and_is_validated_there(settings: Settings, tmp_path: Path) -> None:
    words = len(prepare(settings.data).train)
    tokens = int(1.6 * words)
    result = train(settings, tmp_path / "run", tokens=tokens)
    assert result.stopped == "finished"
    assert tokens <= (result.tokens_seen or 0) < tokens + 28
    lines = finished_epochs(tmp_path / "run")
    assert [line["epoch"] for line in lines] == [1, 1, 2, 2]
    assert lines[-1]["tokens"] == result.tokens_seen
    best = min(line["valid_perplexity"] for line in lines)
    assert result.valid_perplexity == pytest.approx(best, rel=0.1), "chosen over 10 streams, measured over one"


def test_a_finished_run_is_not_trained_further(settings: Settings, tmp_path: Path) -> None:
    first = train(settings, tmp_path / "run")
    again = train(settings, tmp_path / "run", mode="resume")
    assert (again.weights_sha256, again.tokens_seen) == (first.weights_sha256, first.tokens_seen)


def test_lines_between_validations(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer, "WINDOWS_BETWEEN_LINES", 5)
    train(settings, tmp_path / "run", validations=2)
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    between = [line for line in lines if "valid_perplexity" not in line]
    assert [line["window"] for line in between] == [5, 10, 15, 20, 25, 30, 35]
    assert all(line["tokens"] == 28 * line["window"] for line in between)
    assert [line["window"] for line in finished_epochs(tmp_path / "run")] == [18, 36]
    short = [
        train(settings, tmp_path / str(n), schedule="epoch", warmup=0, tokens=140 * n, validations=1) for n in (1, 2)
    ]
    whole = train(settings, tmp_path / "whole", schedule="epoch", warmup=0, validations=1).folder
    first, second = (json.loads(line) for line in (whole / "metrics.jsonl").read_text().splitlines()[:2])
    of_five, of_ten = (finished_epochs(each.folder)[-1]["train_perplexity"] for each in short)
    assert first["recent_perplexity"] == pytest.approx(of_five)
    assert math.sqrt(of_five * second["recent_perplexity"]) == pytest.approx(of_ten), "the second is of windows 6 to 10"


@pytest.mark.parametrize("name", ["tokens", "validations"])
def test_the_budget_is_fixed_when_a_run_resumes(settings: Settings, tmp_path: Path, name: str) -> None:
    train(settings, tmp_path / "run", max_time=0.001)
    more: dict[str, Any] = {name: 3}
    with pytest.raises(RunFolderError, match=f"training.{name}"):
        train(settings, tmp_path / "run", mode="resume", **more)


def test_a_cosine_over_epochs_depends_on_their_number() -> None:
    over_epochs = Settings(training=TrainingSettings(schedule="cosine", epochs=3))
    more = replace(over_epochs, training=replace(over_epochs.training, epochs=4))
    assert changed_settings(over_epochs, more) == ["training.epochs (3, now 4)"]
    assert changed_settings(Settings(), replace(Settings(), training=TrainingSettings(epochs=4))) == []


def test_an_end_that_patience_may_prevent_is_noted() -> None:
    shaped = Settings(
        loss=LossSettings(softmax="sampled", full_at_end=0.2), training=TrainingSettings(schedule="cosine", patience=3)
    )
    notes = of_the_end(shaped)
    assert [note.partition(" counts on all 50 epochs")[0] for note in notes] == [
        "loss.full_at_end 0.2",
        "training.schedule cosine",
    ]
    assert of_the_end(settings_from(shaped, patience=0)) == of_the_end(settings_from(shaped, tokens=1000)) == []
    assert of_the_end(Settings()) == []


def test_epochs_have_no_effect_with_a_budget() -> None:
    training = TrainingSettings(tokens=10, epochs=3)
    assert unused_settings(Settings(training=training)) == ["training.epochs 3 has no effect with training.tokens"]


def test_the_output_bias_starts_at_the_log_unigram(settings: Settings, tmp_path: Path) -> None:
    """A model that knows frequencies has the perplexity of a unigram before its first step."""
    data = prepare(settings.data)
    count_V = np.bincount(data.train, minlength=len(data.vocabulary)).clip(1)
    unigram = math.exp(-np.log(count_V / count_V.sum())[data.valid].mean())
    start: dict[str, Any] = {"head": "tied", "output_bias": True, "bias_init": "unigram", "init": 1e-6}
    result = train(settings, tmp_path / "run", lr=1e-9, tokens=28, validations=1, **start)
    assert result.valid_perplexity == pytest.approx(unigram, rel=1e-4)
