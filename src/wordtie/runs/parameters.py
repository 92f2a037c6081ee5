"""Check that the tensors of a file are the parameters of the model that its settings describe, and usable numbers.

A checksum shows that a file is the one that was written, not that a model can be built from it: anyone who edits a file
can write its checksum, too. Each message names the first tensor that does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from torch import Tensor

from wordtie.config import ModelSettings
from wordtie.models.language_model import LanguageModel

LARGEST = 1e15
"""Largest accepted number: no trained weight is near it, and sums of products of larger ones may overflow a float32."""
Shape: TypeAlias = tuple[tuple[int, ...], torch.dtype]
"""Shape and dtype of a tensor."""


def parse_tensors(data: bytes) -> dict[str, Tensor]:
    """Read the tensors of a safetensors file. Raises `ValueError` for anything else."""
    try:
        return load_tensors(data)
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError, OverflowError) as error:
        # safetensors leaves it to torch to refuse types and sizes
        raise ValueError(f"is not a safetensors file ({' '.join(str(error).split())})") from error


def language_model_shapes(settings: ModelSettings, words: int, most_tensors: int) -> dict[str, Shape]:
    """Return shape and dtype of each parameter of a language model. Raises `ValueError` if there is no such model.

    `most_tensors`: how many there are to compare with; a model with more layers is not built.
    """
    if settings.layers > most_tensors:
        raise ValueError(f"has {most_tensors} tensors, too few for model.layers {settings.layers:,}")
    try:
        with torch.device("meta"):
            state = LanguageModel(settings, words).state_dict()
    except (RuntimeError, TypeError, OverflowError, MemoryError) as error:  # more than 2^63 numbers
        raise ValueError("the model settings describe a model that is too large to build") from error
    return shapes(state)


def shapes(tensors: Mapping[str, Tensor]) -> dict[str, Shape]:
    """Return shape and dtype of each tensor."""
    return {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in tensors.items()}


def check_tensors(tensors: Mapping[str, Tensor], expected: Mapping[str, Shape]) -> None:
    """Raise `ValueError` for a tensor that is missing or not expected, or has another shape or dtype."""
    for name, (size, dtype) in expected.items():
        if name not in tensors:
            raise ValueError(f"{name} is missing")
        found = tensors[name]
        if tuple(found.shape) != size:
            raise ValueError(f"{name} is {_sizes(tuple(found.shape))}, not {_sizes(size)}")
        if found.dtype != dtype:
            raise ValueError(f"{name} is {_type(found.dtype)}, not {_type(dtype)}")
    for name in tensors:
        if name not in expected:
            raise ValueError(f"{name} is no tensor of this model")


def check_numbers(tensors: Mapping[str, Tensor], largest: float = LARGEST) -> None:
    """Raise `ValueError` for a tensor that has a NaN, an infinity, or a number beyond `largest`."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and tensor.numel():
            low, high = torch.aminmax(tensor)
            if not (float(low) >= -largest and float(high) <= largest):  # neither holds for NaN
                raise ValueError(f"{name} has a number that is infinite, not a number, or beyond {largest:g}")


def _sizes(size: tuple[int, ...]) -> str:
    return " x ".join(map(str, size)) or "one number"


def _type(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
