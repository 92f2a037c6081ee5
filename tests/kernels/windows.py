"""A window's operands for the loops over time of an LSTM layer."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def randn(seed: int, *shape: int, scale: float = 1.0) -> Tensor:
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def window(
    steps: int, streams: int, units: int, dropped: bool, cell_scale: float = 1.0, gate_scale: float = 1.0
) -> list[Any]:
    """The operands of `forward`, with what it writes still open."""
    here = streams, units
    cells, masked = torch.full((steps + 1, *here), torch.nan), torch.full((steps + 1, *here), torch.nan)
    cells[0], masked[0] = randn(1, *here, scale=cell_scale), randn(2, *here)
    mask = (randn(3, *here) > 0) * 2.0
    written = [torch.full((steps, *here), torch.nan) for _ in range(2)]
    candidates = (randn(4, steps, *here) > 0) * 1.25 if dropped else None
    gates = randn(5, steps, streams, 4 * units, scale=gate_scale)
    return [gates, randn(6, 4 * units, units, scale=0.3), mask, candidates, cells, *written, masked]


def backwards(after_forward: list[Any]) -> list[Any]:
    """The operands of `backward`, from those that `forward` has gone through; what it writes is still open."""
    gates, weight, mask, candidates, cells, squashed, hidden, _ = after_forward
    assert gates is not None
    assert hidden is not None
    d_hidden, d_cell = randn(7, *hidden.shape), randn(8, *hidden.shape[1:])
    d_gates = torch.full_like(gates, torch.nan)
    return [d_hidden, torch.zeros_like(d_cell), d_cell, gates, weight, mask, candidates, cells, squashed, d_gates]
