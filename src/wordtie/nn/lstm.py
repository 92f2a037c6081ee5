"""The LSTM core, with the mask sharing of Inan, Khosravi & Socher (2017), appendix A, or any of `wordtie.nn.masks`.

    i, f, o = sigmoid(.)    g = tanh(.)        of   W_x x_t + W_h (m * h_{t-1}) + b
    c_t = f * c_{t-1} + i * (d_t * g)          h_t = o * tanh(c_t)

A layer passes m' * h_t on to whatever is above it. For `inan` m' is m: one mask per stream, layer and window
serves both places. Layer 1's input vectors have a mask of their own. d_t drops the candidate (Semeniuta et al. 2016).
The state that is carried to the next window is the unmasked (h, c); the next window draws new masks.

Shapes: T steps, B streams, E input size, H units, 4H gate rows in the order i, f, g, o.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from wordtie.nn.core import Core, Layer, LayerState
from wordtie.nn.masks import NONE, Dropouts, LayerMasks


class LSTMLayer(Layer):
    """Parameters of one layer, and the readable form of its equations."""

    state_parts = 2

    def __init__(self, size: int, hidden: int, forget_bias: float = 0.0) -> None:
        super().__init__(hidden)
        self.forget_bias = forget_bias
        self.input_weight = nn.Parameter(torch.empty(4 * hidden, size))
        self.recurrent_weight = nn.Parameter(torch.empty(4 * hidden, hidden))
        self.bias = nn.Parameter(torch.empty(4 * hidden))

    def reset_biases(self) -> None:
        """Let the forget gates start more open."""
        self.bias[self.hidden : 2 * self.hidden] += self.forget_bias

    def forward(self, inputs_TBE: Tensor, state: LayerState, masks: LayerMasks) -> tuple[Tensor, LayerState]:
        """Return masked outputs (T, B, H) and the unmasked last state."""
        hidden, cell = state
        outputs = []
        weight = masks.dropped_weights(self.recurrent_weight)
        projected = inputs_TBE @ self.input_weight.T + self.bias
        for t, gates in enumerate(projected):
            i, f, g, o = (gates + masks.recurring(hidden) @ weight.T).chunk(4, dim=1)
            candidate = g.tanh() if masks.candidate is None else g.tanh() * masks.candidate[t]
            cell = f.sigmoid() * cell + i.sigmoid() * candidate
            hidden = o.sigmoid() * cell.tanh()
            outputs.append(hidden)
        return masks.going_up(torch.stack(outputs)), (hidden, cell)


class LSTMWeights(NamedTuple):
    """The parameters of a layer, as the fast twin takes them; weights that are dropped are zero."""

    input_weight: Tensor
    recurrent_weight: Tensor
    bias: Tensor


RunLayer = Callable[[LSTMWeights, Tensor, tuple[Tensor, Tensor], LayerMasks], tuple[Tensor, tuple[Tensor, Tensor]]]
"""A twin of a layer; its outputs are not masked."""


class LSTM(Core):
    """`core(inputs_TBE, state) -> (outputs_TBH, state)`."""

    def __init__(
        self, size: int, hidden: int, layers: int, dropouts: Dropouts = NONE, forget_bias: float = 0.0
    ) -> None:
        super().__init__((LSTMLayer(size if n == 0 else hidden, hidden, forget_bias) for n in range(layers)), dropouts)
        self.run_layer: RunLayer | None = None
        """The fast twin, which `wordtie.models` puts here; None runs the readable form."""

    def run(self, layer: Layer, inputs_TBE: Tensor, state: LayerState, masks: LayerMasks) -> tuple[Tensor, LayerState]:
        """Run one layer, by its fast twin if there is one."""
        if not isinstance(layer, LSTMLayer) or self.run_layer is None:
            return super().run(layer, inputs_TBE, state, masks)
        weights = LSTMWeights(layer.input_weight, masks.dropped_weights(layer.recurrent_weight), layer.bias)
        outputs_TBH, after = self.run_layer(weights, inputs_TBE, (state[0], state[1]), masks)
        return masks.going_up(outputs_TBH), after
