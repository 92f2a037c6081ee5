"""The GRU core (Cho et al. 2014), its reset gate after the recurrent product, as in cuDNN and `torch.nn.GRU`.

    r, z = sigmoid(.)                of   W x_t + U (m * h_{t-1}) + b
    n    = tanh(W_n x_t + b_n + r * (U_n (m * h_{t-1}) + b'_n))
    h_t  = (1 - z) * (d_t * n) + z * h_{t-1}

m drops what recurs and d_t the candidate, as `wordtie.nn.masks` has them. What z carries over is not dropped.

Shapes: T steps, B streams, E input size, H units, 3H gate rows in the order r, z, n.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wordtie.nn.core import Core, Layer, LayerState
from wordtie.nn.masks import NONE, Dropouts, LayerMasks


class GRULayer(Layer):
    """Parameters of one layer, and its equations."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__(hidden)
        self.input_weight = nn.Parameter(torch.empty(3 * hidden, size))
        self.recurrent_weight = nn.Parameter(torch.empty(3 * hidden, hidden))
        self.bias = nn.Parameter(torch.empty(3 * hidden))
        self.recurrent_bias = nn.Parameter(torch.empty(hidden))

    def forward(self, inputs_TBE: Tensor, state: LayerState, masks: LayerMasks) -> tuple[Tensor, LayerState]:
        """Return masked outputs (T, B, H) and the unmasked last state."""
        (hidden,) = state
        outputs = []
        weight_T = masks.dropped_weights(self.recurrent_weight).T
        projected = inputs_TBE @ self.input_weight.T + self.bias
        for t, rows in enumerate(projected):
            r, z, n = rows.chunk(3, dim=1)
            from_r, from_z, from_n = (masks.recurring(hidden) @ weight_T).chunk(3, dim=1)
            candidate = torch.tanh(n + torch.sigmoid(r + from_r) * (from_n + self.recurrent_bias))
            if masks.candidate is not None:
                candidate = candidate * masks.candidate[t]
            z = torch.sigmoid(z + from_z)
            hidden = (1 - z) * candidate + z * hidden
            outputs.append(hidden)
        return masks.going_up(torch.stack(outputs)), (hidden,)


class GRU(Core):
    """`core(inputs_TBE, state) -> (outputs_TBH, state)`."""

    def __init__(self, size: int, hidden: int, layers: int, dropouts: Dropouts = NONE) -> None:
        super().__init__((GRULayer(size if n == 0 else hidden, hidden) for n in range(layers)), dropouts)
