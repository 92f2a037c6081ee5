"""The recurrence of an LSTM layer with its product in bfloat16, on processors that have AMX.

The same calls as `wordtie.kernels.lstm.steps_numba`, and the same but for the operands of the product, which are
rounded: m * h_t-1 and the recurrent weight, and the gates' gradient. The gates, the state and all sums are in float32.
To be called only where `wordtie.kernels.backend.tiles_serve`.

Shapes: T steps, B streams, H units, gate rows i, f, g, o (4H).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from wordtie.kernels.lstm.steps_numba import candidates, run, step_backward, step_forward
from wordtie.kernels.lstm.tile_product import (
    SIDE,
    add_product,
    panels,
    room_for,
    round_rows,
    tiles_begin,
    tiles_end,
)
from wordtie.kernels.numba_math import compiled


@compiled
def _forward(
    gates: Any, weight: Any, mask: Any, dropped: Any, cells: Any, squashed: Any, hidden: Any, masked: Any,
    begin: Any, end: Any,
) -> None:  # fmt: skip
    tile, rounded = np.empty((SIDE, SIDE), np.float32), room_for(end - begin, weight)
    tiles_begin()
    for t in range(gates.shape[0]):
        round_rows(masked[t], begin, end, rounded)
        add_product(rounded, weight, gates[t], begin, end, tile)
        step_forward(t, gates, mask, dropped, cells, squashed, hidden, masked, begin, end)
    tiles_end()


@compiled
def _backward(
    d_hidden: Any, d_next: Any, d_cell: Any, gates: Any, weight: Any, mask: Any, dropped: Any, cells: Any,
    squashed: Any, d_gates: Any, begin: Any, end: Any,
) -> None:  # fmt: skip
    tile, rounded = np.empty((SIDE, SIDE), np.float32), room_for(end - begin, weight)
    tiles_begin()
    for t in range(gates.shape[0] - 1, -1, -1):
        step_backward(t, d_hidden, d_next, d_cell, gates, mask, dropped, cells, squashed, d_gates, begin, end)
        round_rows(d_gates[t], begin, end, rounded)
        add_product(rounded, weight, d_next, begin, end, tile)
    tiles_end()


def forward(
    gates_TBG: Tensor, recurrent_weight: Tensor, mask_BH: Tensor, dropped_TBH: Tensor | None,
    cells: Tensor, squashed_TBH: Tensor, hidden_TBH: Tensor, masked: Tensor,
) -> None:  # fmt: skip
    """Do the same as `steps_torch.forward`, with the product's operands in bfloat16."""
    weight, dropped = panels(recurrent_weight.T), candidates(dropped_TBH, mask_BH)
    run(_forward, gates_TBG, weight, mask_BH, dropped, cells, squashed_TBH, hidden_TBH, masked)


def backward(
    d_hidden_TBH: Tensor, d_next: Tensor, d_cell: Tensor, gates_TBG: Tensor, recurrent_weight: Tensor,
    mask_BH: Tensor, dropped_TBH: Tensor | None, cells: Tensor, squashed_TBH: Tensor, d_gates_TBG: Tensor,
) -> None:  # fmt: skip
    """Do the same as `steps_torch.backward`, with the product's operands in bfloat16."""
    weight, dropped = panels(recurrent_weight), candidates(dropped_TBH, mask_BH)
    run(_backward, d_hidden_TBH, d_next, d_cell, gates_TBG, weight, mask_BH, dropped, cells, squashed_TBH, d_gates_TBG)
