"""The objective of language modelling: which streams carry their state into a window."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from wordtie.config import ModelSettings, NoiseSettings
from wordtie.losses.loss import CrossEntropy
from wordtie.models.language_model import LanguageModel
from wordtie.nn.core import State
from wordtie.noise.noisy_forward import Noise
from wordtie.training.language_modelling import NextWordLoss, window

WORDS, EOS, T, B = 30, 4, 6, 3


@pytest.fixture
def model() -> LanguageModel:
    torch.manual_seed(1)
    return LanguageModel(ModelSettings(hidden=5, input_dropout=0.0, hidden_dropout=0.0), WORDS).eval()


def ids() -> Tensor:
    """(T + 1, B); the second stream's window begins with `<eos>`, the third's has one within."""
    ids_TB = torch.randint(5, WORDS, (T + 1, B), generator=torch.Generator().manual_seed(2))
    ids_TB[0, 1] = ids_TB[3, 2] = EOS
    return ids_TB


def carried(model: LanguageModel, streams: int) -> State:
    generator = torch.Generator().manual_seed(3)
    return [
        tuple(torch.randn(part.shape, generator=generator) for part in layer) for layer in model.initial_state(streams)
    ]


def nats(model: LanguageModel, stream: int, state: State, reset_at: int | None) -> float:
    """Of one stream's window by itself."""
    inputs_TB, targets_TB = (part[:, stream : stream + 1] for part in (ids()[:-1], ids()[1:]))
    own = [tuple(part[stream : stream + 1] for part in layer) for layer in state]
    objective = NextWordLoss(model, Noise(NoiseSettings()), CrossEntropy(), reset_at)
    return float(objective.forward(window(inputs_TB, targets_TB), own)[0].cross_entropy.detach())


def test_a_window_that_begins_with_eos_is_read_from_zeros(model: LanguageModel) -> None:
    state, zeros = carried(model, B), model.initial_state(B)
    objective = NextWordLoss(model, Noise(NoiseSettings()), CrossEntropy(), EOS)
    found = float(objective.forward(window(ids()[:-1], ids()[1:]), state)[0].cross_entropy.detach())
    starts = [state, zeros, state]
    expected = sum(nats(model, stream, start, None) for stream, start in enumerate(starts))
    assert found == pytest.approx(expected, rel=1e-5)
    assert nats(model, 1, state, None) != pytest.approx(nats(model, 1, zeros, None), rel=1e-3)


def test_without_the_setting_every_state_is_carried(model: LanguageModel) -> None:
    state = carried(model, B)
    objective = NextWordLoss(model, Noise(NoiseSettings()), CrossEntropy())
    found = float(objective.forward(window(ids()[:-1], ids()[1:]), state)[0].cross_entropy.detach())
    assert found == pytest.approx(sum(nats(model, stream, state, None) for stream in range(B)), rel=1e-5)
