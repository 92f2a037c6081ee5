"""A run that time stopped within an epoch: what is exported then, and what its later calls make of it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from wordtie.config import DataSettings, LossSettings, ModelSettings, Settings, TrainingSettings
from wordtie.errors import DivergedError
from wordtie.runs import checkpoint
from wordtie.runs.layout import CHECKPOINT, MODEL
from wordtie.training.train import train

TRAINING = TrainingSettings(epochs=2, streams=4, steps=7, threads=1, patience=0, checkpoint_every=100)


@pytest.fixture
def settings(text: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("XDG_CACHE_HOME", str(text.parent / "cache"))
    data, loss = DataSettings(corpus=str(text)), LossSettings(kind="cross_entropy")
    return Settings(data, ModelSettings(hidden=8), loss, training=TRAINING)


def changed(settings: Settings, **training: Any) -> Settings:
    return dataclasses.replace(settings, training=dataclasses.replace(settings.training, **training))


def edit(run: Path, **position: float | list[float]) -> None:
    """Let the checkpoint say that the run has been elsewhere."""
    tensors, record = checkpoint.load(run / CHECKPOINT)
    checkpoint.save(run / CHECKPOINT, tensors, {**record, "position": {**record["position"], **position}})


def exported(run: Path, part: str) -> bool:
    """Whether the folder's model is that part of the checkpoint: `model`, as it is now, or `best`."""
    tensors, _ = checkpoint.load(run / CHECKPOINT)
    return all(torch.equal(tensor, tensors[f"{part}.{name}"]) for name, tensor in load_file(run / MODEL).items())


@pytest.mark.parametrize(
    ("keep", "best", "part"), [("best", 1e-9, "best"), ("best", 1e9, "model"), ("last", 1e-9, "model")]
)
def test_out_of_time_the_better_model_is_exported_or_the_last(
    settings: Settings, keep: str, best: float, part: str, tmp_path: Path
) -> None:
    run, asked = tmp_path / "run", changed(settings, keep=keep)
    train(asked, run)
    edit(run, history=[best, best], best_perplexity=best, best_epoch=1)
    result = train(changed(asked, epochs=9, max_time="0.01s"), run, mode="resume")
    assert (result.stopped, result.epochs) == ("max_time", 2)
    assert [exported(run, each) for each in ("model", "best")] == [part == "model", part == "best"]


def test_a_run_that_then_diverges_has_the_model_of_its_best_epoch(settings: Settings, tmp_path: Path) -> None:
    """And not that from within an epoch, which the stop had left."""
    run, longer = tmp_path / "run", changed(settings, epochs=9)
    train(settings, run)
    edit(run, history=[1e9, 1e9], best_perplexity=1e9, best_epoch=1)
    train(changed(longer, max_time="0.01s"), run, mode="resume")
    assert exported(run, "model")
    tensors, record = checkpoint.load(run / CHECKPOINT)
    tensors["model.embedding.weight"] *= 1e38
    checkpoint.save(run / CHECKPOINT, tensors, record)
    with pytest.raises(DivergedError, match="the best validated model is kept"):
        train(longer, run, mode="resume")
    assert exported(run, "best")


def test_the_seconds_are_those_of_all_calls(settings: Settings, tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(settings, run)
    edit(run, seconds=1000.0)
    assert 1000 < train(changed(settings, epochs=3), run, mode="resume").seconds < 1900
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["seconds"] > 1000 > lines[0]["seconds"]
