"""The plain recurrent core (Elman 1990).

    h_t = tanh(W x_t + U (m * h_{t-1}) + b)

m drops what recurs, as `wordtie.nn.masks` has it.

Shapes: T steps, B streams, E input size, H units.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wordtie.nn.core import Core, Layer, LayerState
from wordtie.nn.masks import NONE, Dropouts, LayerMasks


class RNNLayer(Layer):
    """Parameters of one layer, and its equation."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__(hidden)
        self.input_weight = nn.Parameter(torch.empty(hidden, size))
        self.recurrent_weight = nn.Parameter(torch.empty(hidden, hidden))
        self.bias = nn.Parameter(torch.empty(hidden))

    def forward(self, inputs_TBE: Tensor, state: LayerState, masks: LayerMasks) -> tuple[Tensor, LayerState]:
        """Return masked outputs (T, B, H) and the unmasked last state."""
        (hidden,) = state
        outputs = []
        weight_T = masks.dropped_weights(self.recurrent_weight).T
        for rows in inputs_TBE @ self.input_weight.T + self.bias:
            hidden = torch.tanh(rows + masks.recurring(hidden) @ weight_T)
            outputs.append(hidden)
        return masks.going_up(torch.stack(outputs)), (hidden,)


class RNN(Core):
    """`core(inputs_TBE, state) -> (outputs_TBH, state)`."""

    def __init__(self, size: int, hidden: int, layers: int, dropouts: Dropouts = NONE) -> None:
        super().__init__((RNNLayer(size if n == 0 else hidden, hidden) for n in range(layers)), dropouts)
