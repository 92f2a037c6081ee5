"""Start from a finished run's weights with the schedule anew (footnote 4 of Inan, Khosravi & Socher 2017)."""

from __future__ import annotations

from pathlib import Path

import torch

from wordtie.config import Settings
from wordtie.config.paths import path_of
from wordtie.data.prepare import prepare
from wordtie.data.token_file import PreparedData
from wordtie.errors import DataError, RunFolderError
from wordtie.models.language_model import LanguageModel
from wordtie.noise.noisy_forward import build_noise
from wordtie.runs import checkpoint
from wordtie.runs.run_folder import SavedModel, read_language_model
from wordtie.training.run_state import Tensors


def check_start(settings: Settings) -> None:
    """Raise `RunFolderError` where `training.start_from` is not a whole run folder of such a model."""
    if settings.training.start_from is not None:
        _read(settings)


def start(settings: Settings, model: LanguageModel, data: PreparedData) -> str:
    """Give the model the weights of `training.start_from`, if there is one; returns their SHA-256, or nothing.

    A run whose own export will be a mean, or that draws word vectors, starts from the vectors that the earlier run
    trained; any other from what that run exported. Raises `RunFolderError` where it is not such a model, has other
    words, or was exported as a mean that cannot be undone.
    """
    if settings.training.start_from is None:
        return ""
    saved = _read(settings)
    tensors, before = saved.tensors, saved.settings.noise
    exported = checkpoint.tensors_sha256(tensors)
    if saved.tokenizer.vocabulary != data.tokenizer.vocabulary:
        raise RunFolderError(
            f"{settings.training.start_from}: training.start_from has another vocabulary than {settings.data.corpus}: "
            "start from a run on the same text"
        )
    noise = settings.noise
    if before.predicts_with == "mean" and (noise.smooths or noise.predicts_with == "mean"):
        tensors = _before_the_mean(saved, path_of(settings.training.start_from))
    model.load_state_dict(tensors)
    model.constrain()
    return exported


def _before_the_mean(saved: SavedModel, folder: Path) -> Tensors:
    """The parameters that a run trained, from the means that it exported: by its own noise, on its own text."""
    try:
        data = prepare(saved.settings.data)
        if data.tokenizer != saved.tokenizer or data.texts["train"] != saved.texts.get("train"):
            raise DataError(f"{saved.settings.data.corpus} has changed since")
        return build_noise(saved.settings.noise, data, torch.device("cpu")).for_training(saved.tensors)
    except (DataError, ValueError) as error:
        raise RunFolderError(
            f"{folder}: training.start_from was exported as the mean of its noise, which cannot be undone ({error}): "
            "start with --noise.kind none, or from another run"
        ) from error


def _read(settings: Settings) -> SavedModel:
    """What the run exported, whose parameters are those of a model of these settings."""
    folder = path_of(settings.training.start_from or "")
    saved = read_language_model(folder)
    with torch.device("meta"):
        model = LanguageModel(settings.model, len(saved.tokenizer.vocabulary))
    try:
        model.load_state_dict(saved.tensors, assign=True)
    except RuntimeError as error:
        raise RunFolderError(
            f"{folder}: training.start_from holds a model of other model settings: give those of its settings.yaml"
        ) from error
    return saved
