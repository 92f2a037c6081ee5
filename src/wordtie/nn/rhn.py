"""The recurrent highway network (Zilly, Srivastava, Koutnik & Schmidhuber 2016), equations 6 to 9.

One step passes through D highway layers; s is what the step before left, and the input enters at the first:

    h = tanh(.)    t, c = sigmoid(.)       of   [l = 1] W x_t + R_l (m * s_{l-1}) + b_l
    s_l = (d_tl * h) * t + s_{l-1} * c         coupled: c = 1 - t

The last s is the output. m drops what meets a weight, the same at all D (as the paper's code has it); d_tl drops the
candidate, with a new mask at each step and layer. What c carries over is not dropped. The transform gates start low.

Shapes: T steps, B streams, E input size, H units, D depth, G * H rows in the order h, t and (not coupled) c.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wordtie.nn.core import Core, Layer, LayerState
from wordtie.nn.masks import Dropouts, LayerMasks


class RHNLayer(Layer):
    """Parameters of one layer of the stack, D highway layers deep, and its equations."""

    def __init__(self, size: int, hidden: int, depth: int, coupled: bool, transform_bias: float) -> None:
        super().__init__(hidden)
        rows = (2 if coupled else 3) * hidden
        self.candidates = depth
        self.coupled = coupled
        self.transform_bias = transform_bias
        self.input_weight = nn.Parameter(torch.empty(rows, size))
        self.recurrent_weight = nn.Parameter(torch.empty(depth, rows, hidden))
        self.bias = nn.Parameter(torch.empty(depth, rows))

    def reset_biases(self) -> None:
        """Let the transform gates start nearly shut."""
        self.bias[:, self.hidden : 2 * self.hidden] += self.transform_bias

    def forward(self, inputs_TBE: Tensor, state: LayerState, masks: LayerMasks) -> tuple[Tensor, LayerState]:
        """Return masked outputs (T, B, H) and the unmasked last state."""
        (s,) = state
        outputs = []
        weights_T = masks.dropped_weights(self.recurrent_weight).transpose(1, 2)
        levels = list(zip(weights_T.unbind(), self.bias.unbind(), strict=True))  # once, or each step has its gradient
        projected = inputs_TBE @ self.input_weight.T
        for t, rows in enumerate(projected):
            for level, (weight_T, bias) in enumerate(levels):
                scores = torch.addmm(bias, masks.recurring(s), weight_T)
                scores = scores + rows if level == 0 else scores
                h, transform, *carry = scores.chunk(2 if self.coupled else 3, dim=1)
                h, transform = h.tanh(), transform.sigmoid()
                if masks.candidate is not None:
                    h = h * masks.candidate[t, :, level * self.hidden : (level + 1) * self.hidden]
                s = h * transform + s * (carry[0].sigmoid() if carry else 1 - transform)
            outputs.append(s)
        return masks.going_up(torch.stack(outputs)), (s,)


class RHN(Core):
    """`core(inputs_TBE, state) -> (outputs_TBH, state)`."""

    def __init__(
        self,
        size: int,
        hidden: int,
        layers: int,
        dropouts: Dropouts,
        depth: int,
        coupled: bool,
        transform_bias: float,
    ) -> None:
        sizes = [size, *[hidden] * (layers - 1)]
        super().__init__((RHNLayer(each, hidden, depth, coupled, transform_bias) for each in sizes), dropouts)
