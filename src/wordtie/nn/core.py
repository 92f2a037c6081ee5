"""The interface of every recurrent core: `core(inputs_TBE, state) -> (outputs_TBH, state)`.

A core is a stack of layers. A layer turns its inputs and its carried state into h for each step, masked as it goes up,
and the state to carry over, unmasked: the next window draws new masks.

Shapes: T steps, B streams, E input size, H units.
"""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor, nn

from wordtie.nn.masks import Dropouts, LayerMasks, Masks, draw_masks

LayerState = tuple[Tensor, ...]
"""(h,), or (h, c) of an LSTM, each (B, H), unmasked."""
State = list[LayerState]
"""One state per layer."""


class Layer(nn.Module):
    """One layer of a core: has `recurrent_weight`, and a `forward` with the equations of its cell."""

    recurrent_weight: nn.Parameter
    state_parts = 1
    candidates = 1
    """Number of candidate updates per step."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden

    def reset_biases(self) -> None:
        """Shift biases that do not start around zero."""

    def forward(self, inputs_TBE: Tensor, state: LayerState, masks: LayerMasks) -> tuple[Tensor, LayerState]:
        """Return masked outputs (T, B, H) and the unmasked last state."""
        raise NotImplementedError


class Core(nn.Module):
    """A stack of layers of one kind."""

    def __init__(self, layers: Iterable[Layer], dropouts: Dropouts) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.dropouts = dropouts

    @property
    def stack(self) -> list[Layer]:
        """The layers, bottom first."""
        return [layer for layer in self.layers if isinstance(layer, Layer)]

    def initial_state(self, streams: int) -> State:
        """Return zeros, the state that streams start from."""
        like = next(self.parameters())
        return [tuple(like.new_zeros(streams, layer.hidden) for _ in range(layer.state_parts)) for layer in self.stack]

    def draw_masks(self, inputs_TBE: Tensor) -> Masks:
        """Draw the masks of one window; nothing is dropped outside training."""
        if not self.training:
            return Masks(None, [LayerMasks()] * len(self.layers))
        layers = [(layer.hidden, layer.candidates, layer.recurrent_weight) for layer in self.stack]
        return draw_masks(self.dropouts, inputs_TBE, layers)

    def forward(self, inputs_TBE: Tensor, state: State, masks: Masks | None = None) -> tuple[Tensor, State]:
        """Return masked outputs of the top layer (T, B, H), and the state to carry over."""
        masks = self.draw_masks(inputs_TBE) if masks is None else masks
        outputs = inputs_TBE if masks.input is None else inputs_TBE * masks.input
        new_state = []
        for layer, layer_state, layer_masks in zip(self.stack, state, masks.layers, strict=True):
            outputs, layer_state = self.run(layer, outputs, layer_state, layer_masks)
            new_state.append(layer_state)
        return outputs, new_state

    def run(self, layer: Layer, inputs_TBE: Tensor, state: LayerState, masks: LayerMasks) -> tuple[Tensor, LayerState]:
        """Run one layer; a core with fast twins chooses among them here."""
        outputs_TBH, new_state = layer(inputs_TBE, state, masks)
        return outputs_TBH, new_state
