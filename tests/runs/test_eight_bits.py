"""Matrices in 8 bits: how far off they may be, what is refused, and a run folder that is stored so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.runs.mutations import sealed
from tests.tiny_run import TINY, write_text
from wordtie import cli
from wordtie.errors import RunFolderError
from wordtie.inference.loading import load
from wordtie.runs.eight_bits import dequantise, quantise
from wordtie.runs.layout import SCALE
from wordtie.runs.run_folder import read_language_model, write_language_model


def test_no_number_is_off_by_more_than_half_a_step() -> None:
    torch.manual_seed(0)
    wide_RC = torch.randn(64, 128) * torch.logspace(-6, 6, 64)[:, None]
    wide_RC[3] = 0
    back_RC = dequantise(quantise({"w": wide_RC}))["w"]
    step_R = wide_RC.abs().amax(1) / 127
    assert bool(((back_RC - wide_RC).abs() <= step_R[:, None] * 0.5001).all())
    assert back_RC[3].count_nonzero() == 0


def test_vectors_and_small_matrices_stay_as_they_are() -> None:
    tensors = {"bias": torch.randn(9000), "small": torch.randn(8, 8)}
    stored = quantise(tensors)
    assert list(stored) == list(tensors)
    assert all(stored[name] is tensor for name, tensor in tensors.items())


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (None, "no usable w.scale"),
        (torch.ones(5, dtype=torch.float16), "no usable w.scale"),
        (torch.ones(5, 1), "no usable w.scale"),
        (torch.ones(4), "4 numbers for 5 rows"),
    ],
)
def test_what_cannot_be_scaled_is_refused(scale: torch.Tensor | None, message: str) -> None:
    stored = {"w": torch.ones(5, 3, dtype=torch.int8)}
    if scale is not None:
        stored["w" + SCALE] = scale
    with pytest.raises(ValueError, match=message):
        dequantise(stored)


@pytest.fixture
def stored(tmp_path: Path) -> tuple[Path, Path]:
    """The same model in fp32 and in 8 bits, large enough that its word matrix is quantised."""
    whole, small = tmp_path / "whole", tmp_path / "small"
    text = write_text(tmp_path / "text")
    settings = [*TINY, "--model.hidden", "64", "--training.epochs", "1"]
    assert cli.main(["train", str(text), *settings, "--out", str(whole)]) == 0
    write_language_model(small, read_language_model(whole), eight_bits=True)
    return whole, small


def test_a_run_folder_in_8_bits_opens_as_any_other(stored: tuple[Path, Path]) -> None:
    whole, small = stored
    assert (small / "model.safetensors").stat().st_size < 0.35 * (whole / "model.safetensors").stat().st_size
    expected, found = (read_language_model(each).tensors for each in stored)
    assert {name: tensor.dtype for name, tensor in found.items()} == {n: t.dtype for n, t in expected.items()}
    before, after = (load(each).surprisal("w1 w2 w3") for each in stored)
    assert [word.word for word in before] == [word.word for word in after]
    assert max(abs(a.surprisal_bits - b.surprisal_bits) for a, b in zip(before, after, strict=True)) < 0.05


def test_saving_it_again_in_8_bits_changes_nothing(stored: tuple[Path, Path], tmp_path: Path) -> None:
    write_language_model(tmp_path / "again", read_language_model(stored[1]), eight_bits=True)
    once, twice = (load(each).network.state_dict() for each in (stored[1], tmp_path / "again"))
    assert all(torch.allclose(once[name], twice[name], rtol=1e-6) for name in once)


def test_a_storage_that_is_not_known_is_of_a_newer_version(stored: tuple[Path, Path], tmp_path: Path) -> None:
    config = json.loads((stored[1] / "config.json").read_text())
    (stored[1] / "config.json").write_text(json.dumps({**config, "storage": "int4"}))
    sealed(stored[1])
    with pytest.raises(RunFolderError, match="storage is 'int4', which this wordtie does not know: update wordtie"):
        load(stored[1])
