"""One training step with noise, written out: what is drawn, dropped and penalised reaches every parameter."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from wordtie.config import LossSettings, ModelSettings, NoiseSettings
from wordtie.losses.build import build_loss
from wordtie.models.language_model import LanguageModel
from wordtie.noise.noisy_forward import Noise
from wordtie.noise.proposals import Proposal
from wordtie.noise.smoothed_l2 import l2_coefficients
from wordtie.training.run_state import RunState
from wordtie.training.step import Step

WORDS, STREAMS, STEPS, CLIP, RATE, L2 = 13, 3, 6, 1.5, 0.3, 0.3
PROPOSAL = Proposal.from_weights(np.linspace(0.2, 0.9, WORDS), np.arange(1.0, WORDS + 1))
NOISES: dict[str, dict[str, Any]] = {
    "smoothing": {"kind": "kneser_ney"},
    "element-wise pairs": {
        "kind": "kneser_ney", "output_draw": "with_input", "elementwise": True, "input_vector_dropout": 0.4,
        "output_vector_dropout": 0.3,
    },
    "data noising": {"kind": "kneser_ney", "scheme": "data_noising", "input_vector_dropout": 0.2},
    "inputs alone": {"kind": "linear_interpolation", "output_draw": "none", "output_vector_dropout": 0.3},
}  # fmt: skip


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("name", NOISES)
def test_equals_the_step_written_out(name: str, fused: bool) -> None:
    settings = NoiseSettings(l2=L2, **NOISES[name])
    noise = Noise(settings, PROPOSAL)
    torch.manual_seed(1)
    model = LanguageModel(ModelSettings(hidden=5, init=0.6, output_bias=True), WORDS).use(fused).train()
    before, ids = copy.deepcopy(model), torch.randint(WORDS, (STEPS + 1, STREAMS))
    now = RunState(model, torch.optim.SGD(model.parameters(), lr=RATE), model.initial_state(STREAMS))
    torch.manual_seed(7)
    loss = build_loss(LossSettings("cross_entropy"), fused, torch.float32)
    assert Step(loss, CLIP, noise)(now, ids[:-1], ids[1:])

    torch.manual_seed(7)
    read, _ = noise.forward(before, ids[:-1], ids[1:], before.initial_state(STREAMS))
    logits = read.query_NE @ read.output_VE.T
    if read.drawn_NE is not None:
        own = (read.query_NE * read.drawn_NE).sum(1, keepdim=True)
        logits = logits.scatter(1, read.targets_N[:, None], own)
    assert before.head.bias is not None
    total = F.cross_entropy(logits + before.head.bias, read.targets_N, reduction="sum") / STREAMS
    for parameter_name, parameter in before.named_parameters():
        if not parameter_name.endswith("bias"):
            of_words = parameter_name == "embedding.weight" and settings.smooths
            weight = l2_coefficients(PROPOSAL, "exact").float() if of_words else torch.ones(len(parameter))
            total = total + L2 / 2 * (weight[:, None] * parameter.square()).sum()
    gradients = torch.autograd.grad(total, list(before.parameters()))
    norm = float(torch.cat([gradient.flatten() for gradient in gradients]).norm())
    assert norm > CLIP
    for stepped, parameter, gradient in zip(model.parameters(), before.parameters(), gradients, strict=True):
        torch.testing.assert_close(stepped, parameter - RATE * CLIP / norm * gradient, rtol=1e-5, atol=1e-6)


def test_each_noise_changes_what_is_trained_on() -> None:
    """Else the step written out would equal one that leaves the noise out."""
    torch.manual_seed(1)
    model = LanguageModel(ModelSettings(hidden=5), WORDS).train()
    ids = torch.randint(WORDS, (STEPS + 1, STREAMS))
    read = {
        name: Noise(NoiseSettings(**noise), PROPOSAL).forward(model, ids[:-1], ids[1:], model.initial_state(STREAMS))[0]
        for name, noise in NOISES.items()
    }
    assert read["smoothing"].drawn_NE is not None
    assert read["element-wise pairs"].drawn_NE is not None
    assert not torch.equal(read["data noising"].targets_N, ids[1:].flatten())
    assert not torch.equal(read["inputs alone"].output_VE, model.output_matrix)


def test_a_gradient_that_is_no_number_changes_nothing() -> None:
    """Though the loss is one."""
    torch.manual_seed(1)
    model = LanguageModel(ModelSettings(hidden=5, init=3.0), WORDS).train()
    before, ids = copy.deepcopy(model.state_dict()), torch.randint(WORDS, (STEPS + 1, STREAMS))
    now = RunState(model, torch.optim.SGD(model.parameters(), lr=RATE), model.initial_state(STREAMS))
    loss = build_loss(LossSettings("cross_entropy"), False, torch.float32)
    assert not Step(loss, CLIP, Noise(NoiseSettings(l2=3e38)))(now, ids[:-1], ids[1:])
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert (now.position.window, now.position.tokens, now.position.nats) == (0, 0, 0.0)
