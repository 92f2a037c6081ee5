"""Three windows of WT + PR as Press & Wolf released it (`ptb_word_lm_WT_PR.py`), written out: the same parameters.

Their cost is the cross-entropy summed over the steps and averaged over the streams, and half the squared norm of the
map over 6.5 times the streams; the map has a bias; gradients are clipped to a norm of 5, the rate is 1.
"""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.reference.naive import NaiveMasks, NaiveModel
from wordtie.config import LossSettings, ModelSettings, NoiseSettings, TrainingSettings
from wordtie.losses.build import build_loss
from wordtie.models.language_model import LanguageModel
from wordtie.noise.noisy_forward import Noise
from wordtie.training.language_modelling import NextWordLoss, window
from wordtie.training.optim import build_optimiser
from wordtie.training.run_state import RunState
from wordtie.training.step import train_step

WORDS, UNITS, STREAMS, STEPS, WINDOWS = 30, 8, 4, 5, 3


def as_released(model: NaiveModel, linear: Tensor, bias: Tensor, windows: Tensor) -> None:
    """`linear` (H, H) and `bias` (H,) are the map's; all parameters are changed in place."""
    state, no_masks = model.initial_state(STREAMS), NaiveMasks(1.0, [1.0, 1.0])
    parameters = [*model.parameters(), linear, bias]
    for ids in windows:
        hidden, state = model(ids[:-1], state, no_masks)
        state = [(h.detach(), c.detach()) for h, c in state]
        logits = (hidden @ linear + bias) @ model.words.T + model.output_bias
        cost = F.cross_entropy(logits, ids[1:].flatten(), reduction="sum") / STREAMS
        cost = cost + linear.square().sum() / 2 / (6.5 * STREAMS)
        gradients = torch.autograd.grad(cost, parameters)
        norm = torch.cat([each.flatten() for each in gradients]).norm()
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter -= gradient * (5 / norm if norm > 5 else 1)


@pytest.mark.parametrize("fused", [True, False])
def test_equals_the_released_code(fused: bool) -> None:
    torch.manual_seed(1)
    settings = ModelSettings(
        head="tied_linear", hidden=UNITS, hidden_dropout=0, init=1, projection_penalty=1 / 6.5, projection_bias=True
    )
    model = LanguageModel(settings, WORDS).use(fused).train()
    theirs = NaiveModel(WORDS, UNITS, 2, tied=True, output_bias=True)
    own = model.state_dict()
    kinds = ("input_weight", "recurrent_weight", "bias")
    names = ["embedding.weight", "head.bias", *(f"core.layers.{layer}.{kind}" for kind in kinds for layer in (0, 1))]
    with torch.no_grad():
        for name, parameter in zip(names, theirs.parameters(), strict=True):
            parameter.copy_(own[name])
    linear, bias = (own[f"head.projection.{name}"].clone().requires_grad_() for name in ("weight", "bias"))
    windows = torch.randint(WORDS, (WINDOWS, STEPS + 1, STREAMS))
    as_released(theirs, linear, bias, windows)

    optimiser = build_optimiser(TrainingSettings(lr=1.0), model.parameters())
    loss = build_loss(LossSettings(kind="cross_entropy"), fused, torch.float32)
    state = RunState(model, optimiser, model.initial_state(STREAMS))
    objective = NextWordLoss(model, Noise(NoiseSettings()), loss)
    for ids in windows:
        assert train_step(objective, state, window(ids[:-1], ids[1:]), clip=5.0)
    for name, parameter in zip(names, theirs.parameters(), strict=True):
        torch.testing.assert_close(own[name], parameter.detach(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(own["head.projection.weight"], linear.detach(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(own["head.projection.bias"], bias.detach(), rtol=1e-4, atol=1e-5)
