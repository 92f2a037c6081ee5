"""The LSTM core with the mask sharing of Inan, Khosravi & Socher (2017), section 5."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.reference.lstm import SlowLayer, slow_window
from wordtie.kernels.lstm.layer import FastLayer
from wordtie.nn.lstm import LSTM, LSTMLayer
from wordtie.nn.masks import Dropouts, LayerMasks, Masks

T, B, E, H = 4, 3, 5, 4
KEEP = 0.7
DROPOUTS = Dropouts(input=1 - KEEP, between=1 - KEEP, output=1 - KEEP)


def core(fused: bool = False, dropouts: Dropouts = DROPOUTS) -> LSTM:
    torch.manual_seed(1)
    made = LSTM(E, H, 2, dropouts)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter)
    if fused:
        made.run_layer = FastLayer(torch.float32)
    return made


def start() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(B, H), torch.randn(B, H)) for _ in range(2)]


def slow(core: LSTM, inputs: Tensor, state: list[tuple[Tensor, ...]], masks: Masks) -> tuple[Tensor, Tensor]:
    """Outputs, and the states as (layer, h or c, B, H), by the reference."""
    layers = [
        SlowLayer(layer.input_weight.tolist(), layer.recurrent_weight.tolist(), layer.bias.tolist())
        for layer in core.stack
        if isinstance(layer, LSTMLayer)
    ]
    outputs, states = [], []
    for b in range(B):
        before = [(h[b].tolist(), c[b].tolist()) for h, c in state]
        hidden_masks = [[1.0] * H if each.output is None else each.output[b].tolist() for each in masks.layers]
        input_mask = [1.0] * E if masks.input is None else masks.input[b].tolist()
        out, after = slow_window(layers, inputs[:, b].tolist(), before, input_mask, hidden_masks)
        outputs.append(torch.tensor(out))
        states.append(torch.tensor(after))
    return torch.stack(outputs, dim=1), torch.stack(states, dim=2)


@pytest.mark.parametrize("fused", [False, True], ids=["readable", "fused"])
@pytest.mark.parametrize("masked", [False, True], ids=["no masks", "masks"])
def test_equals_the_definition(masked: bool, fused: bool) -> None:
    made = core(fused)
    inputs, state = torch.randn(T, B, E), start()
    masks = made.train(masked).draw_masks(inputs)
    outputs, after = made(inputs, state, masks)
    expected, expected_after = slow(made, inputs, state, masks)
    torch.testing.assert_close(outputs, expected, rtol=1e-5, atol=2e-6)
    torch.testing.assert_close(torch.stack([torch.stack(pair) for pair in after]), expected_after, rtol=1e-5, atol=2e-6)


def test_masks_are_scaled_and_fresh_for_each_window() -> None:
    made, inputs = core().train(), torch.randn(T, 400, E)
    first, second = made.draw_masks(inputs), made.draw_masks(inputs)
    every = ([each.input, *(layer.output for layer in each.layers)] for each in (first, second))
    for one, other in zip(*every, strict=True):
        assert one is not None
        assert other is not None
        assert one.dim() == 2  # none for each step: the same over the window
        assert one.unique().tolist() == pytest.approx([0, 1 / KEEP])
        assert one.mean().item() == pytest.approx(1, abs=0.1)
        assert not torch.equal(one, other)
    below, above = (layer.output for layer in first.layers)
    assert below is not None
    assert above is not None
    assert not torch.equal(below, above)


def test_one_mask_serves_where_h_recurs_and_where_it_goes_up() -> None:
    masks = core().train().draw_masks(torch.randn(T, B, E))
    for layer in masks.layers:
        assert layer.output is not None
        assert layer.recurrent is layer.output


@pytest.mark.parametrize("fused", [False, True], ids=["readable", "fused"])
def test_what_is_dropped_stays_dropped_and_reaches_nobody(fused: bool) -> None:
    """A unit whose mask is 0 is silent at every step, on top and where it recurs; its cell lives on in the state."""
    made = core(fused).train()
    inputs, state = torch.randn(T, B, E), start()
    mask = torch.ones(B, H)
    mask[:, 1] = 0
    masks = Masks(None, [LayerMasks(output=mask, recurrent=mask)] * 2)
    outputs, after = made(inputs, state, masks)
    assert (outputs[:, :, 1] == 0).all()
    assert (outputs[:, :, 0] != 0).all()
    assert (after[1][0][:, 1] != 0).all()
    with torch.no_grad():  # neither the recurrent weights that read the unit nor those of the layer above matter
        for name, weight in made.named_parameters():
            if "recurrent_weight" in name or "1.input_weight" in name:
                weight[:, 1] += 5
    again, _ = made(inputs, state, masks)
    torch.testing.assert_close(again, outputs)


def test_nothing_is_dropped_outside_training() -> None:
    made = core().eval()
    masks = made.draw_masks(torch.randn(T, B, E))
    assert masks.input is None
    assert masks.layers == [LayerMasks()] * 2
    inputs, state = torch.randn(T, B, E), start()
    assert torch.equal(made(inputs, state)[0], made(inputs, state)[0])


def test_windows_one_after_the_other_are_one_long_text() -> None:
    made = core(dropouts=Dropouts()).eval()
    inputs = torch.randn(2 * T, B, E)
    whole, end = made(inputs, made.initial_state(B))
    first, middle = made(inputs[:T], made.initial_state(B))
    second, last = made(inputs[T:], middle)
    torch.testing.assert_close(torch.cat([first, second]), whole)
    torch.testing.assert_close(last, end)
