"""Start from a finished run's weights with the schedule anew (footnote 4 of Inan, Khosravi & Socher 2017)."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from wordtie.config import Settings
from wordtie.errors import RunFolderError
from wordtie.models.language_model import LanguageModel
from wordtie.models.noisy_reading import Noise
from wordtie.text.tokenizer import Tokenizer
from wordtie.training.run_folder import read_model, read_settings


def check_start(settings: Settings) -> None:
    """Raise `RunFolderError` where `training.start_from` is not a whole run folder of such a model."""
    if settings.training.start_from is not None:
        _read(settings)


def start(settings: Settings, model: LanguageModel, tokenizer: Tokenizer, noise: Noise) -> None:
    """Give the model the weights of `training.start_from`, if there is one.

    Raises `RunFolderError` where it is not such a model, or has other words.
    """
    if settings.training.start_from is None:
        return
    before, tensors, words = _read(settings)
    if words.vocabulary != tokenizer.vocabulary:
        raise RunFolderError(
            f"{settings.training.start_from}: training.start_from has another vocabulary than {settings.data.corpus}: "
            "start from a run on the same text"
        )
    if before.noise == settings.noise:
        tensors = noise.for_training(tensors)
    model.load_state_dict(tensors)


def _read(settings: Settings) -> tuple[Settings, dict[str, Tensor], Tokenizer]:
    folder = Path(settings.training.start_from or "")
    config, tensors, tokenizer = read_model(folder, "language_model")
    with torch.device("meta"):
        model = LanguageModel(settings.model, len(tokenizer.vocabulary))
    try:
        model.load_state_dict(tensors, assign=True)
    except RuntimeError as error:
        raise RunFolderError(
            f"{folder}: training.start_from holds a model of other model settings: give those of its settings.yaml"
        ) from error
    return read_settings(config, folder), tensors, tokenizer
