"""The recurrence of an LSTM layer in plain torch: for float64, and where neither numba nor Triton serves.

The same calls as `wordtie.kernels.lstm.steps_numba`.

Shapes: T steps, B streams, H units, gate rows i, f, g, o (4H).
"""

from __future__ import annotations

import torch
from torch import Tensor


def forward(
    gates_TBG: Tensor, recurrent_weight: Tensor, mask_BH: Tensor, dropped_TBH: Tensor | None,
    cells: Tensor, squashed_TBH: Tensor, hidden_TBH: Tensor, masked: Tensor,
) -> None:  # fmt: skip
    """Turn input projections into activations of the gates, in place; write c_t, tanh c_t, h_t and m * h_t.

    `cells` and `masked` are (T + 1, B, H); their first entries come from the window's initial state.
    """
    units = mask_BH.shape[1]
    for t, gates in enumerate(gates_TBG):
        gates.addmm_(masked[t], recurrent_weight.T)
        gates[:, : 2 * units].sigmoid_()
        gates[:, 2 * units : 3 * units].tanh_()
        gates[:, 3 * units :].sigmoid_()
        i, f, g, o = gates.chunk(4, dim=1)
        candidate = g if dropped_TBH is None else g * dropped_TBH[t]
        torch.mul(f, cells[t], out=cells[t + 1]).addcmul_(i, candidate)
        torch.tanh(cells[t + 1], out=squashed_TBH[t])
        torch.mul(o, squashed_TBH[t], out=hidden_TBH[t])
        torch.mul(hidden_TBH[t], mask_BH, out=masked[t + 1])


def backward(
    d_hidden_TBH: Tensor, d_next: Tensor, d_cell: Tensor, gates_TBG: Tensor, recurrent_weight: Tensor,
    mask_BH: Tensor, dropped_TBH: Tensor | None, cells: Tensor, squashed_TBH: Tensor, d_gates_TBG: Tensor,
) -> None:  # fmt: skip
    """Compute d(gates) from d h_t and the last d c; `d_cell` becomes the gradient of the first c.

    `d_next` starts at zero and becomes d(m * h) of the window's initial state.
    """
    for t in range(len(gates_TBG) - 1, -1, -1):
        i, f, g, o = gates_TBG[t].chunk(4, dim=1)
        di, df, dg, do = d_gates_TBG[t].chunk(4, dim=1)
        squashed = squashed_TBH[t]
        d_hidden = (d_next * mask_BH).add_(d_hidden_TBH[t])
        d_cell += d_hidden * o * (1 - squashed * squashed)
        torch.mul(d_cell * g, i * (1 - i), out=di)
        torch.mul(d_cell * cells[t], f * (1 - f), out=df)
        torch.mul(d_cell * i, 1 - g * g, out=dg)
        torch.mul(d_hidden * squashed, o * (1 - o), out=do)
        if dropped_TBH is not None:
            di *= dropped_TBH[t]
            dg *= dropped_TBH[t]
        d_cell *= f
        torch.mm(d_gates_TBG[t], recurrent_weight, out=d_next)
