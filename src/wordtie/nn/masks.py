"""What is dropped in one window, and how it is drawn.

    inan     Inan, Khosravi & Socher (2017): one mask per layer on h, for what recurs and for what goes up alike
    gal      Gal & Ghahramani (2016): masks of their own for what recurs and for what goes up
    zaremba  Zaremba et al. (2014): a new mask at every step, on what goes up alone

Masks of the first two are constant over the steps of a window, one per stream. Beside them, in any of the three:
the candidate update of the cell is dropped with a new mask at every step (Semeniuta et al. 2016), and single recurrent
weights for the whole window (weight drop of AWD-LSTM, Merity et al. 2018).

Shapes: T steps, B streams, E input size, H units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from wordtie.nn.dropout import mask

Dropped = Tensor | None
"""A mask with entries 0 or 1 / (1 - rate); None where nothing is dropped."""


@dataclass(frozen=True)
class Dropouts:
    """Shares that are dropped."""

    kind: Literal["inan", "gal", "zaremba"] = "inan"
    input: float = 0.0
    """Share of layer 1's input vectors."""
    recurrent: float = 0.0
    """Share of h where it recurs: `gal` only, for `inan` it is that of `between` and `output`."""
    between: float = 0.0
    """Share of h where it feeds the next layer."""
    output: float = 0.0
    """Share of the top layer's h where it feeds the head."""
    candidate: float = 0.0
    weights: float = 0.0


NONE = Dropouts()
"""Nothing is dropped."""


@dataclass(frozen=True)
class LayerMasks:
    """What is dropped in one layer. `recurrent` and `output` are the same tensor where one mask serves both."""

    output: Dropped = None
    """(B, H), or (T, B, H) with a mask for each step: on h where it goes up."""
    recurrent: Dropped = None
    """(B, H): on h where it meets the recurrent weights."""
    candidate: Dropped = None
    """(T, B, H), H times the candidates that a cell has at a step."""
    weights: Dropped = None
    """Mask in the shape of the recurrent weights."""

    def dropped_weights(self, weight: Tensor) -> Tensor:
        """Return the recurrent weights, with dropped ones at zero."""
        return weight if self.weights is None else weight * self.weights

    def recurring(self, hidden_BH: Tensor) -> Tensor:
        """Return h as it meets the recurrent weights."""
        return hidden_BH if self.recurrent is None else hidden_BH * self.recurrent

    def going_up(self, hidden_TBH: Tensor) -> Tensor:
        """Return h as the next layer or the head sees it."""
        return hidden_TBH if self.output is None else hidden_TBH * self.output


@dataclass(frozen=True)
class Masks:
    """What is dropped in one window."""

    input: Dropped
    """(B, E) or (T, B, E)"""
    layers: Sequence[LayerMasks]
    """Masks of the layers, bottom first."""


def draw_masks(dropouts: Dropouts, inputs_TBE: Tensor, layers: Sequence[tuple[int, int, Tensor]]) -> Masks:
    """Draw the masks of one window. A layer is (H, candidates per step, recurrent weights)."""
    steps, streams, size = inputs_TBE.shape
    lead = (steps, streams) if dropouts.kind == "zaremba" else (streams,)

    def draw(share: float, *shape: int) -> Dropped:
        return mask(shape, share, inputs_TBE)

    top = len(layers) - 1
    drawn_input = draw(dropouts.input, *lead, size)
    shares = [dropouts.output if n == top else dropouts.between for n in range(len(layers))]
    recurrent = going_up = [draw(share, *lead, units) for share, (units, _, _) in zip(shares, layers, strict=True)]
    if dropouts.kind != "inan":
        share = dropouts.recurrent if dropouts.kind == "gal" else 0.0
        recurrent = [draw(share, streams, units) for units, _, _ in layers]
    candidate = [draw(dropouts.candidate, steps, streams, units * number) for units, number, _ in layers]
    weights = [draw(dropouts.weights, *weight.shape) for _, _, weight in layers]
    return Masks(drawn_input, [LayerMasks(*each) for each in zip(going_up, recurrent, candidate, weights, strict=True)])
