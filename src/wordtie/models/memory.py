"""Check that the parameters of a model fit into the machine's memory, before they are allocated.

Linux hands out memory that it does not have and kills the process when it is used, so that no error is raised.
"""

from __future__ import annotations

import torch

from wordtie.config import Settings, TrainingSettings
from wordtie.config.machine import machine_memory
from wordtie.errors import SettingsError
from wordtie.models.language_model import LanguageModel

BYTES = 4
"""Size of a float32, in bytes."""


def check_memory(parameters: int, copies: int, hint: str) -> None:
    """Raise a `SettingsError` if the float32 parameters, each kept `copies` times, do not fit into memory."""
    needed, available = parameters * copies * BYTES, machine_memory()
    if needed > available:
        raise SettingsError(
            f"a model of {parameters:,} parameters needs {needed / 1e9:,.1f} GB to be trained, and this machine has "
            f"{available / 1e9:,.1f} GB: {hint}"
        )


def check_training(parameters: int, training: TrainingSettings, hint: str, more: int = 0) -> None:
    """Raise a `SettingsError` if a training does not fit into memory: the parameters, those of the best validation so
    far and the optimiser's moments, and once more the gradients or, later, what is exported; `more`: further copies."""
    moments = {"sgd": 0, "adam": 2, "rmsprop": 1, "adadelta": 2}[training.optimiser]
    mean = training.average_patience > 0
    check_memory(parameters, 3 + moments + mean + more, hint)


def parameters_of(settings: Settings, words: int) -> int:
    """Return the number of parameters of a model with these settings and this number of words."""
    with torch.device("meta"):  # shapes without memory
        return LanguageModel(settings.model, words).parameter_count()


def check_size(settings: Settings, words: int, device: torch.device, more: int = 0) -> None:
    """Raise a `SettingsError` if the training of a language model does not fit into memory; `more`: further copies."""
    if device.type != "cpu":  # a GPU reports it itself
        return
    hint = "take a smaller model.hidden, model.layers or data.vocabulary_size"
    check_training(parameters_of(settings, words), settings.training, hint, more)
