"""LSTMs with layer normalisation (Ba, Kiros & Hinton 2016), LN(a) = (a - mean a) / sqrt(var a + eps).

`NormalisedLSTM` is that of their supplement, with gains k and one bias for what is added up:

    i, f, g, o   of   k_x * LN(W_x x_t) + k_h * LN(W_h h_{t-1}) + b          all 4H in one LN
    c_t = sigmoid(f) * c_{t-1} + sigmoid(i) * tanh(g)
    h_t = sigmoid(o) * tanh(k_c * LN(c_t) + b_c)

`OutputNormalisedLSTM` leaves the cell as it is, with its fast twin, and normalises what goes up: k * LN(h_t) + b.

Shapes: T steps, B streams, E input size, H units, 4H gate rows in the order i, f, g, o.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from wordtie.nn.core import Core, Layer, LayerState
from wordtie.nn.lstm import LSTM, LSTMLayer
from wordtie.nn.masks import Dropouts, LayerMasks

FIRST_OUTPUT_GAIN = 0.1


class NormalisedLayer(LSTMLayer):
    """Parameters of one layer, and its equations."""

    def __init__(self, size: int, hidden: int, forget_bias: float) -> None:
        super().__init__(size, hidden, forget_bias)
        self.input_gain = nn.Parameter(torch.empty(4 * hidden))
        self.recurrent_gain = nn.Parameter(torch.empty(4 * hidden))
        self.cell_gain = nn.Parameter(torch.empty(hidden))
        self.cell_bias = nn.Parameter(torch.empty(hidden))

    def reset_biases(self) -> None:
        """Gains start at one."""
        super().reset_biases()
        for gain in (self.input_gain, self.recurrent_gain, self.cell_gain):
            gain.fill_(1.0)
        self.cell_bias.zero_()

    def forward(self, inputs_TBE: Tensor, state: LayerState, masks: LayerMasks) -> tuple[Tensor, LayerState]:
        """Masked outputs (T, B, H) and the unmasked last state."""
        hidden, cell = state
        outputs = []
        weight_T = masks.dropped_weights(self.recurrent_weight).T
        gates, units = [4 * self.hidden], [self.hidden]
        projected = nn.functional.layer_norm(inputs_TBE @ self.input_weight.T, gates, self.input_gain, self.bias)
        for t, rows in enumerate(projected):
            recurrent = nn.functional.layer_norm(masks.recurring(hidden) @ weight_T, gates, self.recurrent_gain)
            i, f, g, o = (rows + recurrent).chunk(4, dim=1)
            candidate = g.tanh() if masks.candidate is None else g.tanh() * masks.candidate[t]
            cell = f.sigmoid() * cell + i.sigmoid() * candidate
            hidden = o.sigmoid() * nn.functional.layer_norm(cell, units, self.cell_gain, self.cell_bias).tanh()
            outputs.append(hidden)
        return masks.going_up(torch.stack(outputs)), (hidden, cell)


class NormalisedLSTM(Core):
    """`core(inputs_TBE, state) -> (outputs_TBH, state)`."""

    def __init__(self, size: int, hidden: int, layers: int, dropouts: Dropouts, forget_bias: float) -> None:
        sizes = [size, *[hidden] * (layers - 1)]
        super().__init__((NormalisedLayer(each, hidden, forget_bias) for each in sizes), dropouts)


class OutputNormalisedLayer(LSTMLayer):
    """An LSTM's parameters, and those of the normalisation of its outputs."""

    def __init__(self, size: int, hidden: int, forget_bias: float) -> None:
        super().__init__(size, hidden, forget_bias)
        self.gain = nn.Parameter(torch.empty(hidden))
        self.output_bias = nn.Parameter(torch.empty(hidden))

    def reset_biases(self) -> None:
        """Outputs start small, as those of an LSTM do: with gains of one, the first scores are far too large."""
        super().reset_biases()
        self.gain.fill_(FIRST_OUTPUT_GAIN)
        self.output_bias.zero_()


class OutputNormalisedLSTM(LSTM):
    """`core(inputs_TBE, state) -> (outputs_TBH, state)`."""

    def __init__(self, size: int, hidden: int, layers: int, dropouts: Dropouts, forget_bias: float) -> None:
        super().__init__(size, hidden, layers, dropouts, forget_bias)
        sizes = [size, *[hidden] * (layers - 1)]
        self.layers = nn.ModuleList(OutputNormalisedLayer(each, hidden, forget_bias) for each in sizes)

    def run(self, layer: Layer, inputs_TBE: Tensor, state: LayerState, masks: LayerMasks) -> tuple[Tensor, LayerState]:
        """One layer; what goes up is normalised before some of it is dropped."""
        assert isinstance(layer, OutputNormalisedLayer)
        outputs_TBH, after = super().run(layer, inputs_TBE, state, replace(masks, output=None))
        normalised = nn.functional.layer_norm(outputs_TBH, [layer.hidden], layer.gain, layer.output_bias)
        return masks.going_up(normalised), after
