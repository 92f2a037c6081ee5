"""The LSTM cell's forward work with the candidate dropped (Semeniuta et al. 2016), compiled by numba.

As `wordtie.kernels.lstm_cell.cell_forward`, but for c_t = f * c_{t-1} + i * (d * g). Backward, the cell without d
serves: d scales the gradients of the gates i and g, which `wordtie.kernels.lstm_masked` does.

Shapes: B streams, H units, gate rows i, f, g, o (4H).
"""

from __future__ import annotations

from typing import Any

from wordtie.kernels.lstm_cell import _sigmoid, _tanh
from wordtie.kernels.numba_math import compiled


@compiled
def cell_forward(
    gates: Any, cell: Any, mask: Any, dropped: Any, next_cell: Any, squashed: Any, hidden: Any, masked: Any
) -> None:
    """Gates (B, 4H) become their activations; writes c_t, tanh c_t, h_t and m * h_t, each (B, H)."""
    streams, units = cell.shape
    for b in range(streams):
        i_row, f_row = gates[b, :units], gates[b, units : 2 * units]
        g_row, o_row = gates[b, 2 * units : 3 * units], gates[b, 3 * units :]
        for u in range(units):
            i, f, g, o = _sigmoid(i_row[u]), _sigmoid(f_row[u]), _tanh(g_row[u]), _sigmoid(o_row[u])
            c = f * cell[b, u] + i * g * dropped[b, u]
            s = _tanh(c)
            h = o * s
            i_row[u], f_row[u], g_row[u], o_row[u] = i, f, g, o
            next_cell[b, u] = c
            squashed[b, u] = s
            hidden[b, u] = h
            masked[b, u] = h * mask[b, u]
