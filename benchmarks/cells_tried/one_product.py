"""Cells whose gates see inputs alone, so that one matrix product serves all steps of a window.

What is left for each step is elementwise, and the same in all of them:

    c_t = k_t * c_{t-1} + a_t

    QRNN     Bradbury et al. (2017), filters of two words, fo-pooling:
             z = tanh(.)   f, o = sigmoid(.)     of   W [x_{t-1}; x_t] + b
             c_t = f * c_{t-1} + (1 - f) * z     h_t = o * c_t
    minGRU   Feng et al. (2024):
             z = sigmoid(.)              of   W x_t + b,     n = W_n x_t + b_n
             h_t = (1 - z) * h_{t-1} + z * n
             positive, as in their language models: g(n) in place of n,  g(a) = a + 0.5 if a >= 0, else sigmoid(a)
    SRU      Lei et al. (2018), without the terms v * c_{t-1} in its gates:
             f, r = sigmoid(.)                   of   W x_t + b,     n = W_n x_t
             c_t = f * c_{t-1} + (1 - f) * n     h_t = r * c_t + (1 - r) * x_t,   W_x x_t where x_t has another size

The gates that keep c start as open as an LSTM's forget gates, by `model.forget_bias`. Input vectors are dropped, and
what goes up; nothing else is.

Shapes: T steps, B streams, E input size, H units.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from wordtie.nn.core import Core, Layer, LayerState, State
from wordtie.nn.masks import Dropouts, LayerMasks, Masks, draw_masks


class Scan(torch.autograd.Function):
    """c of every step, (T, B, H), from k, a and the first c, with

    d a_t = d c_t + k_{t+1} * d a_{t+1}      d k_t = d a_t * c_{t-1}      d c_0 = k_1 * d a_1
    """

    @staticmethod
    def forward(ctx: Any, keep_TBH: Tensor, add_TBH: Tensor, first_BH: Tensor) -> Tensor:
        """Step by step, in memory that is taken once."""
        cells = add_TBH.new_empty(len(add_TBH) + 1, *first_BH.shape)
        cells[0] = first_BH
        for t, (keep_BH, add_BH) in enumerate(zip(keep_TBH, add_TBH, strict=True)):
            torch.addcmul(add_BH, keep_BH, cells[t], out=cells[t + 1])
        ctx.save_for_backward(keep_TBH, cells)
        return cells[1:]

    @staticmethod
    def backward(ctx: Any, d_cells_TBH: Tensor) -> Any:
        """Gradients in the order of `forward`'s arguments."""
        keep_TBH, cells = ctx.saved_tensors
        d_add = d_cells_TBH.clone(memory_format=torch.contiguous_format)
        for t in range(len(d_add) - 2, -1, -1):
            d_add[t].addcmul_(keep_TBH[t + 1], d_add[t + 1])
        return d_add * cells[:-1], d_add, keep_TBH[0] * d_add[0]


def scan(keep_TBH: Tensor, add_TBH: Tensor, first_BH: Tensor) -> Tensor:
    """c of every step, (T, B, H).

    >>> half = torch.full((3, 1, 1), 0.5)
    >>> scan(half, 2 * half, torch.zeros(1, 1)).flatten()
    tensor([1.0000, 1.5000, 1.7500])
    """
    cells_TBH: Tensor = Scan.apply(keep_TBH, add_TBH, first_BH)  # type: ignore[no-untyped-call]
    return cells_TBH


class OneProductLayer(Layer):
    """Parameters of one layer: `rows` times H rows of one matrix, the first H of them of the gate that keeps c."""

    def __init__(self, size: int, hidden: int, rows: int, keep_bias: float) -> None:
        super().__init__(hidden)
        self.keep_bias = keep_bias
        self.weight = nn.Parameter(torch.empty(rows * hidden, size))
        self.bias = nn.Parameter(torch.empty(rows * hidden))

    @property
    def state_sizes(self) -> list[int]:
        """Of each part of the state."""
        return [self.hidden]

    def reset_biases(self) -> None:
        """Let the gates that keep c start more open."""
        self.bias[: self.hidden] += self.keep_bias


class QRNNLayer(OneProductLayer):
    """Rows f, z, o. The state is c and the last input."""

    def __init__(self, size: int, hidden: int, keep_bias: float) -> None:
        super().__init__(2 * size, hidden, 3, keep_bias)

    @property
    def state_sizes(self) -> list[int]:
        """Of c, and of an input."""
        return [self.hidden, self.weight.shape[1] // 2]

    def forward(self, inputs_TBE: Tensor, state: LayerState, masks: LayerMasks) -> tuple[Tensor, LayerState]:
        """Masked outputs (T, B, H) and the state to carry on."""
        cell, last = state
        before_TBE = torch.cat([last[None], inputs_TBE[:-1]])
        rows = nn.functional.linear(torch.cat([before_TBE, inputs_TBE], 2), self.weight, self.bias)
        keep, candidate, output = rows.chunk(3, dim=2)
        keep = keep.sigmoid()
        cells = scan(keep, (1 - keep) * candidate.tanh(), cell)
        return masks.going_up(output.sigmoid() * cells), (cells[-1], inputs_TBE[-1])


class MinGRULayer(OneProductLayer):
    """Rows 1 - z, n: the sign of z's weights does not matter."""

    def __init__(self, size: int, hidden: int, keep_bias: float) -> None:
        super().__init__(size, hidden, 2, keep_bias)

    def candidate(self, rows_TBH: Tensor) -> Tensor:
        """What h moves to."""
        return rows_TBH

    def forward(self, inputs_TBE: Tensor, state: LayerState, masks: LayerMasks) -> tuple[Tensor, LayerState]:
        """Masked outputs (T, B, H) and the state to carry on."""
        keep, candidate = nn.functional.linear(inputs_TBE, self.weight, self.bias).chunk(2, dim=2)
        keep = keep.sigmoid()
        hidden = scan(keep, (1 - keep) * self.candidate(candidate), state[0])
        return masks.going_up(hidden), (hidden[-1],)


class PositiveMinGRULayer(MinGRULayer):
    """The form whose h stays positive, so that it has a logarithm."""

    def candidate(self, rows_TBH: Tensor) -> Tensor:
        """g: a + sigmoid(0) if a >= 0, else 0 + sigmoid(a)."""
        return rows_TBH.relu() + rows_TBH.clamp(max=0).sigmoid()


class SRULayer(OneProductLayer):
    """Rows f, r, n and, if the input has another size than h, those of what is passed on of it. n has no bias."""

    def __init__(self, size: int, hidden: int, keep_bias: float) -> None:
        super().__init__(size, hidden, 3 if size == hidden else 4, keep_bias)
        self.bias = nn.Parameter(torch.empty(2 * hidden))

    def forward(self, inputs_TBE: Tensor, state: LayerState, masks: LayerMasks) -> tuple[Tensor, LayerState]:
        """Masked outputs (T, B, H) and the state to carry on."""
        gates, candidate, *passed = (inputs_TBE @ self.weight.T).split(
            [2 * self.hidden, *[self.hidden] * (len(self.weight) // self.hidden - 2)], dim=2
        )
        keep, highway = (gates + self.bias).sigmoid().chunk(2, dim=2)
        cells = scan(keep, (1 - keep) * candidate, state[0])
        outputs = torch.lerp(passed[0] if passed else inputs_TBE, cells, highway)
        return masks.going_up(outputs), (cells[-1],)


class OneProduct(Core):
    """A stack of such layers."""

    def __init__(self, layers: Iterable[OneProductLayer], dropouts: Dropouts) -> None:
        super().__init__(layers, dropouts)

    @property
    def own_stack(self) -> list[OneProductLayer]:
        """The layers, bottom first."""
        return [layer for layer in self.layers if isinstance(layer, OneProductLayer)]

    def initial_state(self, streams: int) -> State:
        """Zeros."""
        like = next(self.parameters())
        return [tuple(like.new_zeros(streams, size) for size in layer.state_sizes) for layer in self.own_stack]

    def draw_masks(self, inputs_TBE: Tensor) -> Masks:
        """One draw for one window; no weights recur."""
        if not self.training:
            return Masks(None, [LayerMasks()] * len(self.layers))
        return draw_masks(self.dropouts, inputs_TBE, [(layer.hidden, 1, layer.weight) for layer in self.own_stack])
