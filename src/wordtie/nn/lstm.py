"""The LSTM core, with the mask sharing of Inan, Khosravi & Socher (2017), section 5.

    i, f, o = sigmoid(.)    g = tanh(.)        of   W_x x_t + W_h (m * h_{t-1}) + b
    c_t = f * c_{t-1} + i * g                  h_t = o * tanh(c_t)

A layer hands m * h_t on, to itself one step later and to whatever stands above it: one mask m per
stream, layer and window serves both places. Layer 1's input vectors have a mask of their own. The
state that is carried to the next window is the unmasked (h, c); the next window masks it anew.

Shapes: T steps, B streams, E input size, H units, 4H gate rows in the order i, f, g, o.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from wordtie.nn.dropout import window_mask

State = list[tuple[Tensor, Tensor]]
"""One (h, c) a layer, each (B, H), unmasked."""


@dataclass(frozen=True)
class Masks:
    """What is dropped in one window; None where nothing is."""

    input: Tensor | None
    """(B, E)"""
    hidden: list[Tensor | None]
    """(B, H) a layer"""


class LSTMLayer(nn.Module):
    """Parameters of one layer, and the readable form of its equations."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.input_weight = nn.Parameter(torch.empty(4 * hidden, size))
        self.recurrent_weight = nn.Parameter(torch.empty(4 * hidden, hidden))
        self.bias = nn.Parameter(torch.empty(4 * hidden))

    def forward(
        self, inputs_TBE: Tensor, state: tuple[Tensor, Tensor], mask_BH: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Masked outputs (T, B, H) and the unmasked last state."""
        hidden, cell = state
        outputs = []
        projected = inputs_TBE @ self.input_weight.T + self.bias
        for gates in projected:
            recurrent = hidden if mask_BH is None else hidden * mask_BH
            i, f, g, o = (gates + recurrent @ self.recurrent_weight.T).chunk(4, dim=1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            hidden = o.sigmoid() * cell.tanh()
            outputs.append(hidden if mask_BH is None else hidden * mask_BH)
        return torch.stack(outputs), (hidden, cell)


RunLayer = Callable[[LSTMLayer, Tensor, tuple[Tensor, Tensor], Tensor | None], tuple[Tensor, tuple[Tensor, Tensor]]]


class LSTM(nn.Module):
    """`core(inputs_TBE, state) -> (outputs_TBH, state)`."""

    def __init__(
        self, size: int, hidden: int, layers: int, input_dropout: float = 0.0, hidden_dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.hidden = hidden
        self.input_dropout = input_dropout
        self.hidden_dropout = hidden_dropout
        self.run_layer: RunLayer = LSTMLayer.forward
        """The readable form; `wordtie.models` puts the fast twin here."""
        self.layers = nn.ModuleList(LSTMLayer(size if n == 0 else hidden, hidden) for n in range(layers))

    @property
    def lstm_layers(self) -> list[LSTMLayer]:
        """The layers, bottom first."""
        return [layer for layer in self.layers if isinstance(layer, LSTMLayer)]

    def initial_state(self, streams: int) -> State:
        """Zeros: what a stream starts from."""
        like = next(self.parameters())
        return [(like.new_zeros(streams, self.hidden), like.new_zeros(streams, self.hidden)) for _ in self.layers]

    def draw_masks(self, inputs_TBE: Tensor) -> Masks:
        """One draw for one window; nothing is dropped outside training."""
        streams, size = inputs_TBE.shape[1:]
        if not self.training:
            return Masks(None, [None] * len(self.layers))
        return Masks(
            window_mask(streams, size, self.input_dropout, inputs_TBE),
            [window_mask(streams, self.hidden, self.hidden_dropout, inputs_TBE) for _ in self.layers],
        )

    def forward(self, inputs_TBE: Tensor, state: State, masks: Masks | None = None) -> tuple[Tensor, State]:
        """Masked outputs of the top layer (T, B, H), and the state to carry on."""
        masks = self.draw_masks(inputs_TBE) if masks is None else masks
        outputs = inputs_TBE if masks.input is None else inputs_TBE * masks.input
        new_state = []
        for layer, layer_state, mask_BH in zip(self.lstm_layers, state, masks.hidden, strict=True):
            outputs, layer_state = self.run_layer(layer, outputs, layer_state, mask_BH)
            new_state.append(layer_state)
        return outputs, new_state
