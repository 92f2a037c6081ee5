"""The recurrence of an LSTM layer, compiled by numba: all steps in one call, the streams distributed over threads.

Streams do not meet within a layer, so that each thread goes through all steps with its own, and no step waits for
another thread. The same calls as `wordtie.kernels.lstm.steps_torch`.

Shapes: T steps, B streams, H units, gate rows i, f, g, o (4H).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from wordtie.kernels.backend import in_parts
from wordtie.kernels.lstm.small_product import HEIGHT, WIDTH, add_product, panels
from wordtie.kernels.numba_math import compiled, exp, inlined

_ONE = np.float32(1)
_TWO = np.float32(2)
_HIGHEST = np.float32(87)
"""Largest argument of `exp`; comes second in `min`, so that a NaN passes through."""


@njit(inline="always", error_model="numpy")
def _sigmoid(x: Any) -> Any:
    return _ONE / (_ONE + exp(min(-x, _HIGHEST)))


@njit(inline="always", error_model="numpy")
def _tanh(x: Any) -> Any:
    return _TWO / (_ONE + exp(min(-_TWO * x, _HIGHEST))) - _ONE


@inlined
def _parts(row: Any, units: Any) -> Any:
    """Return what belongs to i, f, g and o."""
    return row[:units], row[units : 2 * units], row[2 * units : 3 * units], row[3 * units :]


@inlined
def step_forward(
    t: Any, gates: Any, mask: Any, dropped: Any, cells: Any, squashed: Any, hidden: Any, masked: Any,
    begin: Any, end: Any,
) -> None:  # fmt: skip
    """Do step t of streams `begin` to `end`, whose gates have the recurrent product in them."""
    units = mask.shape[1]
    d_step = dropped[min(t, dropped.shape[0] - 1)]
    for b in range(begin, end):
        i_row, f_row, g_row, o_row = _parts(gates[t, b], units)
        c_row, next_row, d_row, mask_row = cells[t, b], cells[t + 1, b], d_step[b], mask[b]
        squashed_row, hidden_row, masked_row = squashed[t, b], hidden[t, b], masked[t + 1, b]
        for u in range(units):
            i, f, g, o = _sigmoid(i_row[u]), _sigmoid(f_row[u]), _tanh(g_row[u]), _sigmoid(o_row[u])
            c = f * c_row[u] + i * (g * d_row[u])
            s = _tanh(c)
            h = o * s
            i_row[u], f_row[u], g_row[u], o_row[u] = i, f, g, o
            next_row[u], squashed_row[u], hidden_row[u], masked_row[u] = c, s, h, h * mask_row[u]


@compiled
def _forward(
    gates: Any, weight: Any, mask: Any, dropped: Any, cells: Any, squashed: Any, hidden: Any, masked: Any,
    begin: Any, end: Any,
) -> None:  # fmt: skip
    tile = np.empty((HEIGHT, WIDTH), np.float32)
    for t in range(gates.shape[0]):
        add_product(masked[t], weight, gates[t], begin, end, tile)
        step_forward(t, gates, mask, dropped, cells, squashed, hidden, masked, begin, end)


@inlined
def step_backward(
    t: Any, d_hidden: Any, d_next: Any, d_cell: Any, gates: Any, mask: Any, dropped: Any, cells: Any,
    squashed: Any, d_gates: Any, begin: Any, end: Any,
) -> None:  # fmt: skip
    """Find the gradients of the gates of step t; leave d(m * h) of the step before at zero, for the product."""
    units = mask.shape[1]
    d_step = dropped[min(t, dropped.shape[0] - 1)]
    for b in range(begin, end):
        i_row, f_row, g_row, o_row = _parts(gates[t, b], units)
        di, df, dg, do = _parts(d_gates[t, b], units)
        c_row, s_row, d_row, mask_row = cells[t, b], squashed[t, b], d_step[b], mask[b]
        dh_row, d_next_row, d_cell_row = d_hidden[t, b], d_next[b], d_cell[b]
        for u in range(units):
            i, f, g, o, s = i_row[u], f_row[u], g_row[u], o_row[u], s_row[u]
            dh = d_next_row[u] * mask_row[u] + dh_row[u]
            dc = d_cell_row[u] + dh * o * (_ONE - s * s)
            d_candidate = dc * d_row[u]
            di[u] = d_candidate * g * i * (_ONE - i)
            df[u] = dc * c_row[u] * f * (_ONE - f)
            dg[u] = d_candidate * i * (_ONE - g * g)
            do[u] = dh * s * o * (_ONE - o)
            d_cell_row[u] = dc * f
            d_next_row[u] = 0


@compiled
def _backward(
    d_hidden: Any, d_next: Any, d_cell: Any, gates: Any, weight: Any, mask: Any, dropped: Any, cells: Any,
    squashed: Any, d_gates: Any, begin: Any, end: Any,
) -> None:  # fmt: skip
    tile = np.empty((HEIGHT, WIDTH), np.float32)
    for t in range(gates.shape[0] - 1, -1, -1):
        step_backward(t, d_hidden, d_next, d_cell, gates, mask, dropped, cells, squashed, d_gates, begin, end)
        add_product(d_gates[t], weight, d_next, begin, end, tile)


def run(work: Any, *operands: Tensor) -> None:
    """Do the work on these tensors, the last of which has the streams second."""
    arrays = [operand.numpy() for operand in operands]
    in_parts(lambda begin, end: work(*arrays, begin, end), operands[-1].shape[1])


def candidates(dropped_TBH: Tensor | None, mask_BH: Tensor) -> Tensor:
    """Return the candidates' masks, or a mask of ones that serves all steps."""
    return torch.ones_like(mask_BH)[None] if dropped_TBH is None else dropped_TBH.contiguous()


def forward(
    gates_TBG: Tensor, recurrent_weight: Tensor, mask_BH: Tensor, dropped_TBH: Tensor | None,
    cells: Tensor, squashed_TBH: Tensor, hidden_TBH: Tensor, masked: Tensor,
) -> None:  # fmt: skip
    """Do the same as `steps_torch.forward`."""
    weight, dropped = panels(recurrent_weight.T), candidates(dropped_TBH, mask_BH)
    run(_forward, gates_TBG, weight, mask_BH, dropped, cells, squashed_TBH, hidden_TBH, masked)


def backward(
    d_hidden_TBH: Tensor, d_next: Tensor, d_cell: Tensor, gates_TBG: Tensor, recurrent_weight: Tensor,
    mask_BH: Tensor, dropped_TBH: Tensor | None, cells: Tensor, squashed_TBH: Tensor, d_gates_TBG: Tensor,
) -> None:  # fmt: skip
    """Do the same as `steps_torch.backward`."""
    weight, dropped = panels(recurrent_weight), candidates(dropped_TBH, mask_BH)
    run(_backward, d_hidden_TBH, d_next, d_cell, gates_TBG, weight, mask_BH, dropped, cells, squashed_TBH, d_gates_TBG)
