"""The recurrence of an LSTM layer on a GPU: a matrix product and one kernel of Triton's for each step.

The same calls as `wordtie.kernels.lstm.steps_torch`, which needs ten kernels for a step forward and twenty back.

Shapes: T steps, B streams, H units, gate rows i, f, g, o (4H).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 256
"""Elements of a (B, H) tensor that one program computes."""
OPTIONS = {"enable_fp_fusion": True}
"""Of Triton's compiler, which warns where it is not told: multiply and add in one instruction."""


@triton.jit
def _tanh(x):
    shrunk = tl.exp(-2 * tl.abs(x))  # at most 1, whatever x is
    size = (1 - shrunk) / (1 + shrunk)
    return tl.where(x < 0, -size, size)


@triton.jit
def _sigmoid(x):
    return 0.5 + 0.5 * _tanh(0.5 * x)


@triton.jit
def _step_forward(
    gates, mask, dropped, cell, cell_after, squashed, hidden, masked,
    size, units, is_dropped: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(0) * block + tl.arange(0, block)
    inside = n < size
    row = gates + n // units * 4 * units + n % units
    i = _sigmoid(tl.load(row, mask=inside))
    f = _sigmoid(tl.load(row + units, mask=inside))
    g = _tanh(tl.load(row + 2 * units, mask=inside))
    o = _sigmoid(tl.load(row + 3 * units, mask=inside))
    candidate = g
    if is_dropped:
        candidate = g * tl.load(dropped + n, mask=inside)
    c = f * tl.load(cell + n, mask=inside) + i * candidate
    s = _tanh(c)
    h = o * s
    tl.store(row, i, mask=inside)
    tl.store(row + units, f, mask=inside)
    tl.store(row + 2 * units, g, mask=inside)
    tl.store(row + 3 * units, o, mask=inside)
    tl.store(cell_after + n, c, mask=inside)
    tl.store(squashed + n, s, mask=inside)
    tl.store(hidden + n, h, mask=inside)
    tl.store(masked + n, h * tl.load(mask + n, mask=inside), mask=inside)


@triton.jit
def _step_backward(
    d_hidden, d_next, d_cell, gates, mask, dropped, cell, squashed,
    d_gates, size, units, is_dropped: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(0) * block + tl.arange(0, block)
    inside = n < size
    place = n // units * 4 * units + n % units
    row, d_row = gates + place, d_gates + place
    i, f = tl.load(row, mask=inside), tl.load(row + units, mask=inside)
    g, o = tl.load(row + 2 * units, mask=inside), tl.load(row + 3 * units, mask=inside)
    s = tl.load(squashed + n, mask=inside)
    d_h = tl.load(d_next + n, mask=inside) * tl.load(mask + n, mask=inside) + tl.load(d_hidden + n, mask=inside)
    d_c = tl.load(d_cell + n, mask=inside) + d_h * o * (1 - s * s)
    d_update = d_c
    if is_dropped:
        d_update = d_c * tl.load(dropped + n, mask=inside)
    tl.store(d_row, d_update * g * i * (1 - i), mask=inside)
    tl.store(d_row + units, d_c * tl.load(cell + n, mask=inside) * f * (1 - f), mask=inside)
    tl.store(d_row + 2 * units, d_update * i * (1 - g * g), mask=inside)
    tl.store(d_row + 3 * units, d_h * s * o * (1 - o), mask=inside)
    tl.store(d_cell + n, d_c * f, mask=inside)


def forward(
    gates_TBG: Tensor, recurrent_weight: Tensor, mask_BH: Tensor, dropped_TBH: Tensor | None,
    cells: Tensor, squashed_TBH: Tensor, hidden_TBH: Tensor, masked: Tensor,
) -> None:  # fmt: skip
    """Turn input projections into activations of the gates, in place; write c_t, tanh c_t, h_t and m * h_t.

    `cells` and `masked` are (T + 1, B, H); their first entries come from the window's initial state. All are
    contiguous.
    """
    size, units = mask_BH.numel(), mask_BH.shape[1]
    for t, gates in enumerate(gates_TBG):
        gates.addmm_(masked[t], recurrent_weight.T)
        dropped = None if dropped_TBH is None else dropped_TBH[t]
        _step_forward[(triton.cdiv(size, BLOCK),)](
            gates, mask_BH, dropped, cells[t], cells[t + 1], squashed_TBH[t], hidden_TBH[t], masked[t + 1],
            size, units, dropped is not None, BLOCK, **OPTIONS,
        )  # fmt: skip


def backward(
    d_hidden_TBH: Tensor, d_next: Tensor, d_cell: Tensor, gates_TBG: Tensor, recurrent_weight: Tensor,
    mask_BH: Tensor, dropped_TBH: Tensor | None, cells: Tensor, squashed_TBH: Tensor, d_gates_TBG: Tensor,
) -> None:  # fmt: skip
    """Compute d(gates) from d h_t and the last d c; `d_cell` becomes the gradient of the first c.

    `d_next` starts at zero and becomes d(m * h) of the window's initial state.
    """
    size, units = mask_BH.numel(), mask_BH.shape[1]
    for t in range(len(gates_TBG) - 1, -1, -1):
        dropped = None if dropped_TBH is None else dropped_TBH[t]
        _step_backward[(triton.cdiv(size, BLOCK),)](
            d_hidden_TBH[t], d_next, d_cell, gates_TBG[t], mask_BH, dropped, cells[t], squashed_TBH[t],
            d_gates_TBG[t], size, units, dropped is not None, BLOCK, **OPTIONS,
        )  # fmt: skip
        torch.mm(d_gates_TBG[t], recurrent_weight, out=d_next)
