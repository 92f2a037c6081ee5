"""Cores of several layers whose outputs are added up before the head.

    y_t = h_t of layer 1 + ... + h_t of layer L

The head is then as near to the first layer as in a model of one layer.

Shapes: T steps, B streams, E input size, H units.
"""

from __future__ import annotations

from torch import Tensor

from benchmarks.cells_tried.one_product import OneProduct
from wordtie.nn.core import Core, State
from wordtie.nn.lstm import LSTM
from wordtie.nn.masks import Masks


class Summed(Core):
    """`core(inputs_TBE, state) -> (outputs_TBH, state)`."""

    def forward(self, inputs_TBE: Tensor, state: State, masks: Masks | None = None) -> tuple[Tensor, State]:
        """The sum of the layers' masked outputs (T, B, H), and the state to carry on."""
        masks = self.draw_masks(inputs_TBE) if masks is None else masks
        outputs = inputs_TBE if masks.input is None else inputs_TBE * masks.input
        found, new_state = [], []
        for layer, layer_state, layer_masks in zip(self.stack, state, masks.layers, strict=True):
            outputs, layer_state = self.run(layer, outputs, layer_state, layer_masks)
            found.append(outputs)
            new_state.append(layer_state)
        return sum(found[1:], found[0]), new_state


class SummedLSTM(Summed, LSTM):
    """Of an LSTM."""


class SummedOneProduct(Summed, OneProduct):
    """Of a core whose gates see inputs alone."""
