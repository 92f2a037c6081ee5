"""The LSTM cell's elementwise work, compiled by numba: one pass over memory a step, forward and backward.

Shapes: B streams, H units, gate rows i, f, g, o (4H).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from wordtie.kernels.numba_math import compiled, exp

_ONE = np.float32(1)
_TWO = np.float32(2)
_HIGHEST = np.float32(87)
"""Comes second in `min`, so that a NaN passes through."""


@njit(inline="always", error_model="numpy")
def _sigmoid(x: Any) -> Any:
    return _ONE / (_ONE + exp(min(-x, _HIGHEST)))


@njit(inline="always", error_model="numpy")
def _tanh(x: Any) -> Any:
    return _TWO / (_ONE + exp(min(-_TWO * x, _HIGHEST))) - _ONE


@compiled
def cell_forward(gates: Any, cell: Any, mask: Any, next_cell: Any, squashed: Any, hidden: Any, masked: Any) -> None:
    """Gates (B, 4H) become their activations; writes c_t, tanh c_t, h_t and m * h_t, each (B, H)."""
    streams, units = cell.shape
    for b in range(streams):
        i_row, f_row = gates[b, :units], gates[b, units : 2 * units]
        g_row, o_row = gates[b, 2 * units : 3 * units], gates[b, 3 * units :]
        for u in range(units):
            i, f, g, o = _sigmoid(i_row[u]), _sigmoid(f_row[u]), _tanh(g_row[u]), _sigmoid(o_row[u])
            c = f * cell[b, u] + i * g
            s = _tanh(c)
            h = o * s
            i_row[u], f_row[u], g_row[u], o_row[u] = i, f, g, o
            next_cell[b, u] = c
            squashed[b, u] = s
            hidden[b, u] = h
            masked[b, u] = h * mask[b, u]


@compiled
def cell_backward(
    d_output: Any, d_next: Any, d_last: Any, mask: Any, gates: Any, cell: Any, squashed: Any, d_cell: Any, d_gates: Any
) -> None:
    """From d(m * h_t) and d c_t to d(gates) (B, 4H) and d c_{t-1} (in place in `d_cell`).

    d(m * h_t) is what came from above plus what came from the next step; `d_last` is d h_t of the
    window's last state, zero elsewhere.
    """
    streams, units = cell.shape
    for b in range(streams):
        i_row, f_row = gates[b, :units], gates[b, units : 2 * units]
        g_row, o_row = gates[b, 2 * units : 3 * units], gates[b, 3 * units :]
        di, df = d_gates[b, :units], d_gates[b, units : 2 * units]
        dg, do = d_gates[b, 2 * units : 3 * units], d_gates[b, 3 * units :]
        for u in range(units):
            i, f, g, o, s = i_row[u], f_row[u], g_row[u], o_row[u], squashed[b, u]
            dh = (d_output[b, u] + d_next[b, u]) * mask[b, u] + d_last[b, u]
            dc = d_cell[b, u] + dh * o * (_ONE - s * s)
            di[u] = dc * g * i * (_ONE - i)
            df[u] = dc * cell[b, u] * f * (_ONE - f)
            dg[u] = dc * i * (_ONE - g * g)
            do[u] = dh * s * o * (_ONE - o)
            d_cell[b, u] = dc * f
