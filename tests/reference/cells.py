"""Recurrent cells step by step, unit by unit, from their papers' equations, with everything that may be dropped.

Scalars in nested lists: `w[row][column]`; autograd through them gives the gradients. Each function takes one layer
and one stream: inputs (T, E), and returns h of each step, unmasked.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

Row = Sequence[Tensor]


def times(matrix: Tensor, vector: Row) -> list[Tensor]:
    rows = []
    for r in range(matrix.shape[0]):
        total = torch.zeros((), dtype=torch.float64)
        for c in range(matrix.shape[1]):
            total = total + matrix[r, c] * vector[c]
        rows.append(total)
    return rows


def lstm(
    x: Tensor, h: Row, c: Row, w: Tensor, u: Tensor, b: Tensor, recurrent: Tensor, candidate: Tensor
) -> tuple[list[list[Tensor]], list[Tensor]]:
    """Rows of w, u and b: i, f, g, o. Returns (h of each step, the last c)."""
    units, outputs = len(h), []
    for t in range(len(x)):
        from_x, from_h = times(w, list(x[t])), times(u, [h[k] * recurrent[k] for k in range(units)])
        a = [from_x[r] + from_h[r] + b[r] for r in range(4 * units)]
        new_c, new_h = [], []
        for k in range(units):
            i, f, o = torch.sigmoid(a[k]), torch.sigmoid(a[units + k]), torch.sigmoid(a[3 * units + k])
            g = torch.tanh(a[2 * units + k]) * candidate[t, k]
            new_c.append(f * c[k] + i * g)
            new_h.append(o * torch.tanh(new_c[k]))
        h, c = new_h, new_c
        outputs.append(new_h)
    return outputs, list(c)


def gru(
    x: Tensor, h: Row, w: Tensor, u: Tensor, b: Tensor, b_n: Tensor, recurrent: Tensor, candidate: Tensor
) -> list[list[Tensor]]:
    """Rows: r, z, n."""
    units, outputs = len(h), []
    for t in range(len(x)):
        from_x, from_h = times(w, list(x[t])), times(u, [h[k] * recurrent[k] for k in range(units)])
        new_h = []
        for k in range(units):
            r = torch.sigmoid(from_x[k] + b[k] + from_h[k])
            z = torch.sigmoid(from_x[units + k] + b[units + k] + from_h[units + k])
            n = torch.tanh(from_x[2 * units + k] + b[2 * units + k] + r * (from_h[2 * units + k] + b_n[k]))
            new_h.append((1 - z) * n * candidate[t, k] + z * h[k])
        h = new_h
        outputs.append(new_h)
    return outputs


def rnn(x: Tensor, h: Row, w: Tensor, u: Tensor, b: Tensor, recurrent: Tensor) -> list[list[Tensor]]:
    outputs = []
    for t in range(len(x)):
        from_x, from_h = times(w, list(x[t])), times(u, [h[k] * recurrent[k] for k in range(len(h))])
        h = [torch.tanh(from_x[k] + from_h[k] + b[k]) for k in range(len(h))]
        outputs.append(list(h))
    return outputs


def rhn(
    x: Tensor, s: Row, w: Tensor, u: Tensor, b: Tensor, recurrent: Tensor, candidate: Tensor, coupled: bool
) -> list[list[Tensor]]:
    """u (D, rows, H) and b (D, rows), rows: h, t and, not coupled, c; candidate (T, D, H)."""
    units, outputs = len(s), []
    for time in range(len(x)):
        from_x = times(w, list(x[time]))
        for level in range(len(u)):
            from_s = times(u[level], [s[k] * recurrent[k] for k in range(units)])
            a = [from_s[r] + b[level, r] + (from_x[r] if level == 0 else 0) for r in range(len(from_s))]
            new_s = []
            for k in range(units):
                h, t = torch.tanh(a[k]) * candidate[time, level, k], torch.sigmoid(a[units + k])
                c = 1 - t if coupled else torch.sigmoid(a[2 * units + k])
                new_s.append(h * t + s[k] * c)
            s = new_s
        outputs.append(list(s))
    return outputs
