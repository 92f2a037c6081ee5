"""The model as a whole: its start, its penalty in a step of training, the rows that are held at norm one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from wordtie.config import ModelSettings, NoiseSettings
from wordtie.losses.loss import CrossEntropy
from wordtie.models.language_model import LanguageModel
from wordtie.noise.noisy_forward import Noise
from wordtie.training.language_modelling import NextWordLoss, window
from wordtie.training.run_state import RunState
from wordtie.training.step import train_step

WORDS, T, B = 20, 3, 4


def stepped(settings: ModelSettings, lr: float = 0.5) -> tuple[LanguageModel, LanguageModel, RunState]:
    """The model before and after one window, and where training is then."""
    torch.manual_seed(1)
    before, after = LanguageModel(settings, WORDS), LanguageModel(settings, WORDS)
    after.load_state_dict(before.state_dict())
    after.train()
    now = RunState(after, torch.optim.SGD(after.parameters(), lr=lr), after.initial_state(B))
    inputs, targets = torch.randint(WORDS, (2, T, B))
    objective = NextWordLoss(after, Noise(NoiseSettings()), CrossEntropy())
    assert train_step(objective, now, window(inputs, targets), clip=0.0)
    return before, after, now


NO_DROPOUT = {"hidden": 5, "input_dropout": 0.0, "hidden_dropout": 0.0}


@pytest.mark.parametrize("head", ["tied_linear", "untied"])
def test_the_penalty_is_learnt_from_and_never_reported(head: str) -> None:
    """Against the loss summed over the window's tokens: with B streams, each step takes lr * lambda * L / B more."""
    common = {**NO_DROPOUT, "head": head, "projection": head == "untied"}
    _, plain, without = stepped(ModelSettings(**common))  # type: ignore[arg-type]
    before, penalised, with_penalty = stepped(ModelSettings(**common, projection_penalty=0.15))  # type: ignore[arg-type]
    name = "head.projection.weight"
    difference = plain.state_dict()[name] - penalised.state_dict()[name]
    torch.testing.assert_close(difference, 0.5 * 0.15 * before.state_dict()[name] / B, rtol=1e-3, atol=1e-6)
    assert without.position.nats == with_penalty.position.nats
    torch.testing.assert_close(plain.embedding.weight, penalised.embedding.weight)


def test_rows_are_brought_back_to_norm_one_after_every_step() -> None:
    _, after, _ = stepped(ModelSettings(**NO_DROPOUT, head="untied", unit_rows=True), lr=5.0)  # type: ignore[arg-type]
    torch.testing.assert_close(after.embedding.weight.norm(dim=1), torch.ones(WORDS))


@pytest.mark.parametrize("core", ["lstm", "gru", "rnn", "rhn"])
@pytest.mark.parametrize("core_init", [None, 0.02])
def test_parameters_start_uniform_and_biases_where_they_belong(core: str, core_init: float | None) -> None:
    start = ModelSettings(core=core, hidden=40, init=0.05, forget_bias=1.0, head="untied")  # type: ignore[arg-type]
    settings = replace(start, core_init=core_init)
    model = LanguageModel(settings, WORDS)
    shifted = {"lstm": (40, 80, 1.0), "rhn": (40, 80, -2.0)}
    for name, parameter in model.named_parameters():
        values = parameter.detach().clone()
        if name == "head.bias":
            assert not values.any()
            continue
        if name.endswith("bias") and core in shifted:
            first, last, shift = shifted[core]
            values[..., first:last] -= shift
        bound = core_init or 0.05 if name.startswith("core") else 0.05
        assert float(values.abs().max()) <= bound + 1e-6
        assert float(values.std()) == pytest.approx(bound / 3**0.5, rel=0.25)
