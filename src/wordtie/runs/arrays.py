"""The parameters of a language model as numpy arrays, read without torch.

What does not fit is refused without a reason: `wordtie.runs.run_folder` reads the file again, and says what is wrong.

Shapes: R rows of a matrix that is stored in 8 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

from wordtie.config import Settings
from wordtie.models.numpy_network import parameter_shapes
from wordtie.runs.layout import INT8, SCALE
from wordtie.runs.run_folder import StoredModel, read_settings, trained_config

LARGEST = 1e15
"""Largest accepted number, as in `wordtie.runs.parameters`."""


@dataclass(frozen=True)
class SavedArrays:
    """Settings and parameters of a language model."""

    settings: Settings
    arrays: dict[str, NDArray[np.float32]]
    texts: dict[str, str]


def language_model_arrays(stored: StoredModel) -> SavedArrays | None:
    """Read the arrays of an opened language model; None if they are not what its settings ask for.

    Raises `RunFolderError` for an invalid config.
    """
    config = trained_config(stored)
    settings = read_settings(config, stored.folder)
    try:
        arrays = load(bytes(stored.content))
        storage = config.get("storage")
        if storage == INT8:
            arrays = _in_fp32(arrays)
        elif storage is not None:
            return None
    except (SafetensorError, ValueError, KeyError, TypeError, OverflowError, AttributeError):
        return None
    shapes = parameter_shapes(settings.model, config["words"])
    found = {name: array.shape for name, array in arrays.items() if array.dtype == np.float32}
    if found != shapes or len(found) != len(arrays):
        return None
    if not all(array.min() >= -LARGEST and array.max() <= LARGEST for array in arrays.values()):  # no NaN is
        return None
    return SavedArrays(settings, arrays, config.get("texts", {}))


def _in_fp32(stored: dict[str, NDArray[np.generic]]) -> dict[str, NDArray[np.float32]]:
    """Dequantise int8 matrices, as `wordtie.runs.eight_bits.dequantise` does. Raises `KeyError` or `ValueError`."""
    arrays = {}
    for name, array in stored.items():
        if array.dtype == np.int8:
            scale_R = stored[name + SCALE]
            if scale_R.shape != array.shape[:1] or scale_R.dtype != np.float32 or array.ndim != 2:
                raise ValueError(name)
            arrays[name] = np.multiply(array, scale_R[:, None], dtype=np.float32)
        elif not (name.endswith(SCALE) and name.removesuffix(SCALE) in stored):
            arrays[name] = array
    return arrays
