"""Runs with noise: the same bits across a stop and a resume, and the mean in what is exported."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.tiny_run import write_text
from wordtie.config import DataSettings, ModelSettings, NoiseSettings, Settings, TrainingSettings
from wordtie.data.prepare import prepare
from wordtie.errors import RunFolderError
from wordtie.ngrams.counts import neighbour_counts
from wordtie.noise.proposals import build_proposal
from wordtie.noise.smoothed_prediction import fold_mean
from wordtie.training.train import train

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
        {
            "kind": "kneser_ney",
            "elementwise": True,
            "input_vector_dropout": 0.3,
            "output_vector_dropout": 0.2,
            "l2": 1e-4,
        },
        {"kind": "kneser_ney", "scheme": "data_noising"},
    ],
    ids=["elements", "data noising"],
)
def test_a_stop_and_a_resume_change_no_bit(text: Path, tmp_path: Path, noise: dict[str, Any]) -> None:
    whole = train(settings(text, 2, **noise), tmp_path / "whole")
    train(settings(text, 1, **noise), tmp_path / "parts")
    assert train(settings(text, 2, **noise), tmp_path / "parts", mode="resume").weights_sha256 == whole.weights_sha256


def test_the_exported_matrix_is_the_mean_of_the_trained_one(text: Path, tmp_path: Path) -> None:
    asked = settings(text, 1, kind="linear_interpolation")
    out = tmp_path / "run"
    train(asked, out)
    data = prepare(asked.data)
    proposal = build_proposal(asked.noise, neighbour_counts(data.train, len(data.vocabulary)), data.vocabulary.unk_id)
    trained = load_file(out / "checkpoints" / "last.safetensors")[f"model.{MATRIX}"]
    exported = load_file(out / "model.safetensors")[MATRIX]
    assert torch.equal(exported, fold_mean(trained, proposal))
    assert not torch.equal(exported, trained)


def test_sampling_measures_the_clean_model(text: Path, tmp_path: Path) -> None:
    asked = settings(text, 1, kind="kneser_ney", prediction="sampling", samples=2)
    result = train(asked, tmp_path / "run")
    trained = load_file(tmp_path / "run" / "checkpoints" / "last.safetensors")[f"model.{MATRIX}"]
    assert torch.equal(load_file(tmp_path / "run" / "model.safetensors")[MATRIX], trained)
    mode = train(settings(text, 1, kind="kneser_ney", prediction="mode"), tmp_path / "mode")
    assert mode.weights_sha256 == result.weights_sha256
    assert mode.test_perplexity != result.test_perplexity == pytest.approx(mode.test_perplexity, rel=0.1)


SMOOTHED = {"kind": "linear_interpolation", "gamma": 0.4}


def started(text: Path, first: Path, **noise: Any) -> torch.Tensor:
    """The word matrix that a run from `first` trains on: one whose rate moves nothing."""
    asked = settings(text, 1, **noise)
    training = dataclasses.replace(asked.training, start_from=str(first), lr=1e-30)
    out = first.with_name("second")
    train(dataclasses.replace(asked, training=training), out)
    return load_file(out / "checkpoints" / "last.safetensors")[f"model.{MATRIX}"]


@pytest.mark.parametrize(
    "noise",
    [SMOOTHED, {**SMOOTHED, "gamma": 0.1}, {"kind": "kneser_ney"}, {"kind": "kneser_ney", "prediction": "mode"}],
    ids=["the same", "another gamma", "another kind", "of which the mode predicts"],
)
def test_a_start_undoes_the_mean_of_the_earlier_run(text: Path, tmp_path: Path, noise: dict[str, Any]) -> None:
    first = tmp_path / "first"
    train(settings(text, 1, **SMOOTHED), first)
    trained = load_file(first / "checkpoints" / "last.safetensors")[f"model.{MATRIX}"]
    torch.testing.assert_close(started(text, first, **noise), trained, rtol=1e-5, atol=1e-6)


def test_a_mean_in_the_first_layer_is_exported_and_undone_by_a_start(text: Path, tmp_path: Path) -> None:
    first, alone = tmp_path / "first", {**SMOOTHED, "output_draw": "none", "prediction": "mean"}
    train(settings(text, 1, **alone), first)
    trained = load_file(first / "checkpoints" / "last.safetensors")
    exported = load_file(first / "model.safetensors")
    moved = [name for name, tensor in exported.items() if not torch.equal(tensor, trained[f"model.{name}"])]
    assert sorted(moved) == ["core.layers.0.bias", "core.layers.0.input_weight"]
    started(text, first, **alone)
    second = load_file(tmp_path / "second" / "checkpoints" / "last.safetensors")
    for name in exported:
        torch.testing.assert_close(second[f"model.{name}"], trained[f"model.{name}"], rtol=1e-5, atol=1e-6)


def test_a_start_counts_the_earlier_runs_own_text(text: Path, tmp_path: Path) -> None:
    first, other = tmp_path / "first", write_text(tmp_path / "other")
    train(settings(text, 1, **SMOOTHED), first)
    with (other / "train.txt").open("a") as file:  # the same words in the same order of their counts
        file.write("w0 " * 900 + "\n")
    trained = load_file(first / "checkpoints" / "last.safetensors")[f"model.{MATRIX}"]
    torch.testing.assert_close(started(other, first, **SMOOTHED), trained, rtol=1e-5, atol=1e-6)


def test_a_start_without_noise_takes_what_was_exported(text: Path, tmp_path: Path) -> None:
    first = tmp_path / "first"
    train(settings(text, 1, **SMOOTHED), first)
    assert torch.equal(started(text, first), load_file(first / "model.safetensors")[MATRIX])


def test_a_start_refuses_a_mean_that_cannot_be_undone(text: Path, tmp_path: Path) -> None:
    first, always = tmp_path / "first", tmp_path / "always"
    train(settings(text, 1, **SMOOTHED), first)
    train(settings(text, 1, **{**SMOOTHED, "gamma": 1.0}), always)
    with pytest.raises(RunFolderError, match=r"always: .* cannot be undone \(a word that is always replaced"):
        started(text, always, **SMOOTHED)
    kept = shutil.copytree(text, tmp_path / "kept")
    with (text / "train.txt").open("a") as file:
        file.write("w1 w2 w3\n")
    with pytest.raises(
        RunFolderError, match=r"cannot be undone \(.*text has changed since .* was trained\): start with --noise"
    ):
        started(kept, first, **SMOOTHED)
    shutil.rmtree(first / "checkpoints")
    with pytest.raises(RunFolderError, match="has changed since"):
        started(kept, first, **SMOOTHED)
    shutil.rmtree(text)
    with pytest.raises(RunFolderError, match="cannot be undone"):
        started(kept, first, **SMOOTHED)
