"""Every cell against its equations, in value and gradient, with everything dropped that can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from tests.reference import cells as reference
from wordtie.kernels.lstm.layer import FastLayer
from wordtie.nn.core import Core, Layer, LayerState
from wordtie.nn.gru import GRU, GRULayer
from wordtie.nn.lstm import LSTM, LSTMLayer
from wordtie.nn.masks import Dropouts, LayerMasks
from wordtie.nn.rhn import RHN, RHNLayer
from wordtie.nn.rnn import RNN, RNNLayer

T, B, E, H, D = 4, 2, 3, 5, 3
LAYERS: dict[str, Callable[[], Layer]] = {
    "lstm": lambda: LSTMLayer(E, H),
    "gru": lambda: GRULayer(E, H),
    "rnn": lambda: RNNLayer(E, H),
    "rhn": lambda: RHNLayer(E, H, D, coupled=True, transform_bias=-2.0),
    "rhn, own carry gates": lambda: RHNLayer(E, H, D, coupled=False, transform_bias=-2.0),
}
MASKS = {
    "none": (),
    "recurrent": ("recurrent",),
    "candidate": ("candidate",),
    "weights": ("weights",),
    "all": ("recurrent", "candidate", "weights", "output"),
}


def layer_of(name: str) -> Layer:
    torch.manual_seed(5)
    layer = LAYERS[name]().double()
    for parameter in layer.parameters():
        torch.nn.init.uniform_(parameter, -0.8, 0.8)
    return layer


def some(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def mask(*shape: int) -> Tensor:
    return torch.empty(*shape, dtype=torch.float64).bernoulli_(0.6) / 0.6


def masks_of(layer: Layer, which: Sequence[str]) -> LayerMasks:
    shapes = {"recurrent": (B, H), "candidate": (T, B, H * layer.candidates), "output": (T, B, H)}
    given = {name: mask(*shape) for name, shape in shapes.items() if name in which}
    if "weights" in which:
        given["weights"] = mask(*layer.recurrent_weight.shape)
    return LayerMasks(**given)


def by_hand(layer: Layer, x: Tensor, state: LayerState, masks: LayerMasks) -> tuple[Tensor, Tensor]:
    """Outputs (T, B, H) as they go up, and the last part of the state, (B, H)."""
    parameters = dict(layer.named_parameters())
    w, b = parameters["input_weight"], parameters["bias"]
    u = parameters["recurrent_weight"] * (1 if masks.weights is None else masks.weights)
    streams, last = [], []
    for s in range(B):
        recurrent = torch.ones(H) if masks.recurrent is None else masks.recurrent[s]
        candidate = torch.ones(T, H * layer.candidates) if masks.candidate is None else masks.candidate[:, s]
        parts = [list(part[s]) for part in state]
        if isinstance(layer, LSTMLayer):
            outputs, end = reference.lstm(x[:, s], parts[0], parts[1], w, u, b, recurrent, candidate)
        elif isinstance(layer, GRULayer):
            outputs = reference.gru(x[:, s], parts[0], w, u, b, parameters["recurrent_bias"], recurrent, candidate)
            end = outputs[-1]
        elif isinstance(layer, RHNLayer):
            depths = candidate.view(T, D, H)
            outputs = reference.rhn(x[:, s], parts[0], w, u, b, recurrent, depths, layer.coupled)
            end = outputs[-1]
        else:
            outputs = reference.rnn(x[:, s], parts[0], w, u, b, recurrent)
            end = outputs[-1]
        streams.append(torch.stack([torch.stack(row) for row in outputs]))
        last.append(torch.stack(end))
    up = torch.stack(streams, dim=1)
    return up if masks.output is None else up * masks.output, torch.stack(last)


def with_gradients(outputs: Tensor, end: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    weights_TBH, weights_BH = torch.linspace(-1, 1, T * B * H).view(T, B, H), torch.linspace(1, 2, B * H).view(B, H)
    total = (outputs * weights_TBH).sum() + (end * weights_BH).sum()
    return [outputs.detach(), end.detach(), *torch.autograd.grad(total, leaves)]


@pytest.mark.parametrize("which", MASKS)
@pytest.mark.parametrize("name", LAYERS)
def test_equals_its_equations(name: str, which: str) -> None:
    layer = layer_of(name)
    chosen = [each for each in MASKS[which] if name != "rnn" or each != "candidate"]
    x, masks = some(T, B, E).requires_grad_(), masks_of(layer, chosen)
    state = tuple(some(B, H).requires_grad_() for _ in range(layer.state_parts))
    leaves = [x, *state, *layer.parameters()]
    outputs, new_state = layer(x, state, masks)
    for one, other in zip(
        with_gradients(outputs, new_state[-1], leaves),
        with_gradients(*by_hand(layer, x, state, masks), leaves),
        strict=True,
    ):
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(new_state[0] * (1 if masks.output is None else masks.output[-1]), outputs[-1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("which", MASKS)
def test_fast_lstm_twins_equal_the_readable_form(which: str, dtype: torch.dtype) -> None:
    core = LSTM(E, H, 1).to(dtype)
    for parameter in core.parameters():
        torch.nn.init.uniform_(parameter, -0.8, 0.8)
    layer = core.stack[0]
    masks = LayerMasks(
        **{name: each.to(dtype) for name, each in vars(masks_of(layer, MASKS[which])).items() if each is not None}
    )
    x = some(T, B, E).to(dtype).requires_grad_()
    state = (some(B, H).to(dtype).requires_grad_(), some(B, H).to(dtype).requires_grad_())
    leaves = [x, *state, *layer.parameters()]
    outputs, (_, cell) = layer(x, state, masks)
    readable = with_gradients(outputs, cell, leaves)
    core.run_layer = FastLayer(dtype)
    outputs, (hidden, cell) = core.run(layer, x, state, masks)
    for one, other in zip(with_gradients(outputs, cell, leaves), readable, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-4, atol=1e-5)
    torch.testing.assert_close(hidden * (1 if masks.output is None else masks.output[-1]), outputs[-1])


def test_gru_is_that_of_torch() -> None:
    core, library = GRU(E, H, 2), torch.nn.GRU(E, H, 2)
    for number, layer in enumerate(core.stack):
        assert isinstance(layer, GRULayer)
        for parameter in layer.parameters():
            torch.nn.init.uniform_(parameter, -0.8, 0.8)
        getattr(library, f"weight_ih_l{number}").data.copy_(layer.input_weight)
        getattr(library, f"weight_hh_l{number}").data.copy_(layer.recurrent_weight)
        getattr(library, f"bias_ih_l{number}").data.copy_(layer.bias)
        getattr(library, f"bias_hh_l{number}").data.zero_()[2 * H :].copy_(layer.recurrent_bias.data)
    x = torch.randn(T, B, E)
    torch.testing.assert_close(core(x, core.initial_state(B))[0], library(x)[0])


@pytest.mark.parametrize("core", [LSTM(E, H, 2), GRU(E, H, 2), RNN(E, H, 2), RHN(E, H, 2, Dropouts(), 2, True, -2.0)])
def test_a_window_in_two_halves_is_the_same(core: Core) -> None:
    for parameter in core.parameters():
        torch.nn.init.uniform_(parameter, -0.8, 0.8)
    x = torch.randn(6, B, E)
    whole, end = core(x, core.initial_state(B))
    first, state = core(x[:2], core.initial_state(B))
    second, state = core(x[2:], state)
    torch.testing.assert_close(torch.cat([first, second]), whole)
    for one, other in zip(state, end, strict=True):
        torch.testing.assert_close(one, other)


def test_nothing_is_dropped_outside_training() -> None:
    dropouts = Dropouts("gal", input=0.5, recurrent=0.5, between=0.5, output=0.5, candidate=0.5, weights=0.5)
    core = LSTM(E, H, 2, dropouts).eval()
    masks = core.draw_masks(torch.zeros(T, B, E))
    assert masks.input is None
    assert masks.layers == [LayerMasks()] * 2
