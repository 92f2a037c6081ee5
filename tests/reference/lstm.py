"""An LSTM window with variational dropout, one number at a time, from the papers.

Inan, Khosravi & Socher (2017), appendix A (Gal & Ghahramani 2016; the LSTM of Zaremba et al. 2014): one mask for a
sequence and layer, the same at every step. The mask on a layer's h is used both where h recurs and where it feeds
the next layer; layer 1's input vectors have a mask of their own. The state that goes to the next window is not
masked: that window has its own masks. Shares no code with the package.

Gate rows of the weights stand in the order i, f, g, o.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

Vector = list[float]
Matrix = list[Vector]


@dataclass
class SlowLayer:
    """W_x (4H, E), W_h (4H, H), b (4H)."""

    input_weight: Matrix
    recurrent_weight: Matrix
    bias: Vector


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


def times(a: Vector, b: Vector) -> Vector:
    return [x * y for x, y in zip(a, b, strict=True)]


def dot(a: Vector, b: Vector) -> float:
    return sum(times(a, b))


def cell_step(layer: SlowLayer, x: Vector, recurrent: Vector, c: Vector) -> tuple[Vector, Vector]:
    """One step of one stream: (h, c) from the input, the masked h of the step before, and c."""
    units = len(c)
    gates = [
        dot(layer.input_weight[row], x) + dot(layer.recurrent_weight[row], recurrent) + layer.bias[row]
        for row in range(4 * units)
    ]
    new_h, new_c = [], []
    for u in range(units):
        i, f = sigmoid(gates[u]), sigmoid(gates[units + u])
        g, o = math.tanh(gates[2 * units + u]), sigmoid(gates[3 * units + u])
        new_c.append(f * c[u] + i * g)
        new_h.append(o * math.tanh(new_c[u]))
    return new_h, new_c


def slow_window(
    layers: list[SlowLayer],
    window: Matrix,
    state: list[tuple[Vector, Vector]],
    input_mask: Vector,
    hidden_masks: Matrix,
) -> tuple[Matrix, list[tuple[Vector, Vector]]]:
    """One stream over one window: masked outputs of the top layer, step by step, and the state to carry on."""
    state = list(state)
    outputs = []
    for x in window:
        below = times(x, input_mask)
        for n, layer in enumerate(layers):
            h, c = state[n]
            state[n] = cell_step(layer, below, times(h, hidden_masks[n]), c)
            below = times(state[n][0], hidden_masks[n])
        outputs.append(below)
    return outputs, state
