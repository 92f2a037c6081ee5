"""Matrices stored as 8-bit integers with one scale per row, for models that are passed on: a quarter of the bytes.

    W_rc ≈ s_r · q_rc,  s_r = max_c |W_rc| / 127,  q_rc = round(W_rc / s_r)

No number is off by more than s_r / 2. The model is computed in fp32, as any other.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from wordtie.runs.layout import SCALE

SMALLEST = 1 << 12
"""Fewest numbers in a matrix to quantise; the gain from a smaller one is not worth its error."""
LARGEST = 127


def quantise(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return matrices of at least `SMALLEST` numbers as int8 with a scale for each row, and the rest as it is.

    >>> quantise({"w": torch.tensor([[1.0, -0.5]]).expand(2048, 2)})["w"][0]
    tensor([127, -64], dtype=torch.int8)
    """
    stored = {}
    for name, tensor in tensors.items():
        if tensor.dim() != 2 or tensor.numel() < SMALLEST:
            stored[name] = tensor
            continue
        scale_R = tensor.abs().amax(1) / LARGEST
        scale_R = torch.where(scale_R > 0, scale_R, torch.ones_like(scale_R))
        stored[name] = torch.round(tensor / scale_R[:, None]).to(torch.int8)
        stored[name + SCALE] = scale_R
    return stored


def dequantise(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the matrices in fp32. Raises `ValueError` for an int8 tensor without usable scales."""
    tensors = {}
    for name, tensor in stored.items():
        if tensor.dtype == torch.int8:
            scale_R = stored.get(name + SCALE)
            if scale_R is None or tensor.dim() != 2 or scale_R.dtype != torch.float32 or scale_R.dim() != 1:
                raise ValueError(f"{name} is int8 and has no usable {name}{SCALE}")
            if len(scale_R) != len(tensor):
                raise ValueError(f"{name}{SCALE} has {len(scale_R):,} numbers for {len(tensor):,} rows")
            tensors[name] = tensor.float() * scale_R[:, None]
        elif not (name.endswith(SCALE) and name.removesuffix(SCALE) in stored):
            tensors[name] = tensor
    return tensors
