"""Runs with noise: the same bits across a stop and a resume, and the mean in what is exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from wordtie.config import DataSettings, ModelSettings, NoiseSettings, Settings, TrainingSettings
from wordtie.noise.cached_counts import training_counts
from wordtie.noise.proposals import build_proposal
from wordtie.noise.smoothed_prediction import fold_mean
from wordtie.training.trainer import prepared_data, train

MATRIX = "embedding.weight"


def settings(text: Path, epochs: int, **noise: Any) -> Settings:
    return Settings(
        data=DataSettings(corpus=str(text)),
        model=ModelSettings(hidden=8, layers=1),
        noise=NoiseSettings(**noise),
        training=TrainingSettings(epochs=epochs, streams=4, steps=7, threads=1),
    )


@pytest.mark.parametrize(
    "noise",
    [
        {"kind": "kneser_ney", "elementwise": True, "input_dropout": 0.3, "output_dropout": 0.2, "l2": 1e-4},
        {"kind": "kneser_ney", "scheme": "data_noising"},
    ],
    ids=["elements", "data noising"],
)
def test_a_stop_and_a_resume_change_no_bit(text: Path, tmp_path: Path, noise: dict[str, Any]) -> None:
    whole = train(settings(text, 2, **noise), tmp_path / "whole")
    train(settings(text, 1, **noise), tmp_path / "parts")
    assert train(settings(text, 2, **noise), tmp_path / "parts", resume=True).weights_sha256 == whole.weights_sha256


def test_the_exported_matrix_is_the_mean_of_the_trained_one(text: Path, tmp_path: Path) -> None:
    asked = settings(text, 1, kind="linear_interpolation")
    out = tmp_path / "run"
    train(asked, out)
    data = prepared_data(asked)
    proposal = build_proposal(asked.noise, training_counts(data.train, len(data.vocabulary)), data.vocabulary.unk_id)
    assert proposal is not None
    trained = load_file(out / "checkpoints" / "last.safetensors")[f"model.{MATRIX}"]
    exported = load_file(out / "model.safetensors")[MATRIX]
    assert torch.equal(exported, fold_mean(trained, proposal))
    assert not torch.equal(exported, trained)


def test_sampling_measures_the_clean_model(text: Path, tmp_path: Path) -> None:
    asked = settings(text, 1, kind="kneser_ney", prediction="sampling", samples=2)
    result = train(asked, tmp_path / "run")
    trained = load_file(tmp_path / "run" / "checkpoints" / "last.safetensors")[f"model.{MATRIX}"]
    assert torch.equal(load_file(tmp_path / "run" / "model.safetensors")[MATRIX], trained)
    assert result.test_perplexity > 1
