"""Whether the parameters of a model fit into the machine's memory: asked before they are made.

Linux hands out memory that it does not have and ends the process when it is used, so that no error is raised.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

import torch

from wordtie.config import Settings
from wordtie.errors import SettingsError
from wordtie.models.language_model import LanguageModel

BYTES = 4
"""A float32."""
COUNTING = 50
"""Bytes for each token and order while n-grams are counted: 45 of 200,000 tokens, 40 of two million."""
GROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux says how much a container may use."""


def machine_memory() -> int:
    """Bytes that this process can have at most: of the machine, of its container, of `ulimit -v`."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        limits.append(soft)
    for path in GROUP_LIMITS:
        try:
            limits.append(int(Path(path).read_text(encoding="ascii")))
        except (OSError, ValueError):  # `max`: no limit
            continue
    return min(limits)


def check_fits(parameters: int, copies: int, hint: str) -> None:
    """Raise a `SettingsError` if so many float32 parameters, each kept `copies` times, do not fit into memory."""
    needed, available = parameters * copies * BYTES, machine_memory()
    if needed > available:
        raise SettingsError(
            f"a model of {parameters:,} parameters needs {needed / 1e9:,.1f} GB to be trained, and this machine has "
            f"{available / 1e9:,.1f} GB: {hint}"
        )


def bytes_to_count(tokens: int, order: int) -> int:
    """Memory that counting the n-grams of so many tokens of text takes."""
    return COUNTING * order * tokens


def ngrams_fit(tokens: int, order: int) -> bool:
    """Whether they can be counted in memory."""
    return bytes_to_count(tokens, order) <= machine_memory()


def check_ngrams_fit(tokens: int, order: int | None) -> None:
    """Raise a `SettingsError` if they cannot, which would be noticed after the training."""
    if order is not None and not ngrams_fit(tokens, order):
        needed, available = bytes_to_count(tokens, order), machine_memory()
        raise SettingsError(
            f"counting {order}-grams of {tokens:,} tokens needs {needed / 1e9:,.1f} GB, and this machine has "
            f"{available / 1e9:,.1f} GB: take a smaller --ngram, or --ngram none"
        )


def parameters_of(settings: Settings, words: int) -> int:
    """How many a model with these settings has over so many words."""
    with torch.device("meta"):  # shapes without memory
        return LanguageModel(settings.model, words).parameter_count()


def check_size(settings: Settings, words: int, device: torch.device) -> None:
    """Raise a `SettingsError` if parameters, gradients and the optimiser's moments do not fit into memory."""
    if device.type != "cpu":  # a GPU reports it itself
        return
    moments = {"sgd": 0, "adam": 2, "rmsprop": 1, "adadelta": 2}[settings.training.optimiser]
    check_fits(
        parameters_of(settings, words), 2 + moments, "take a smaller model.hidden, model.layers or data.vocabulary_size"
    )
