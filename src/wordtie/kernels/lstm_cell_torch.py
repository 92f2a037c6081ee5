"""The LSTM cell's elementwise work in plain torch: for GPUs, for float64 and where numba is not installed.

The same calls as `wordtie.kernels.lstm_cell`, on tensors.

Shapes: B streams, H units, gate rows i, f, g, o (4H).
"""

from __future__ import annotations

import torch
from torch import Tensor


def cell_forward(
    gates: Tensor, cell: Tensor, mask: Tensor, next_cell: Tensor, squashed: Tensor, hidden: Tensor, masked: Tensor
) -> None:
    """Gates (B, 4H) become their activations; writes c_t, tanh c_t, h_t and m * h_t, each (B, H)."""
    units = cell.shape[1]
    gates[:, : 2 * units].sigmoid_()
    gates[:, 2 * units : 3 * units].tanh_()
    gates[:, 3 * units :].sigmoid_()
    i, f, g, o = gates.chunk(4, dim=1)
    torch.mul(f, cell, out=next_cell).addcmul_(i, g)
    torch.tanh(next_cell, out=squashed)
    torch.mul(o, squashed, out=hidden)
    torch.mul(hidden, mask, out=masked)


def cell_backward(
    d_output: Tensor,
    d_next: Tensor,
    d_last: Tensor,
    mask: Tensor,
    gates: Tensor,
    cell: Tensor,
    squashed: Tensor,
    d_cell: Tensor,
    d_gates: Tensor,
) -> None:
    """From d(m * h_t) and d c_t to d(gates) (B, 4H) and d c_{t-1} (in place in `d_cell`)."""
    i, f, g, o = gates.chunk(4, dim=1)
    di, df, dg, do = d_gates.chunk(4, dim=1)
    d_hidden = (d_output + d_next).mul_(mask).add_(d_last)
    d_cell += d_hidden * o * (1 - squashed * squashed)
    torch.mul(d_cell * g, i * (1 - i), out=di)
    torch.mul(d_cell * cell, f * (1 - f), out=df)
    torch.mul(d_cell * i, 1 - g * g, out=dg)
    torch.mul(d_hidden * squashed, o * (1 - o), out=do)
    d_cell *= f
