"""Optimisers against their equations, learning rates epoch by epoch, and the mean of the weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import pytest
import torch
from torch import nn

from wordtie.config import ModelSettings, TrainingSettings
from wordtie.models.language_model import WORD_MATRICES, LanguageModel
from wordtie.training.averaging import Average
from wordtie.training.optim import build_optimiser, parameter_groups, set_learning_rate
from wordtie.training.schedule import (
    averaging_begins,
    budget_of,
    learning_rate,
    never_reached,
    out_of_patience,
)

GRADIENTS = [0.5, -1.0, 0.25, 2.0]
Update = Callable[[TrainingSettings], list[float]]


def sgd(settings: TrainingSettings) -> list[float]:
    p, path = 1.0, []
    for gradient in GRADIENTS:
        p -= settings.lr * (gradient + settings.weight_decay * p)
        path.append(p)
    return path


def adam(settings: TrainingSettings) -> list[float]:
    """Kingma & Ba (2015), algorithm 1, with lambda / 2 p^2 in the objective."""
    p, m, v, path = 1.0, 0.0, 0.0, []
    beta1, beta2 = settings.beta1, settings.beta2 or 0.999
    for t, gradient in enumerate(GRADIENTS, 1):
        g = gradient + settings.weight_decay * p
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        p -= settings.lr * (m / (1 - beta1**t)) / (math.sqrt(v / (1 - beta2**t)) + 1e-8)
        path.append(p)
    return path


def rmsprop(settings: TrainingSettings) -> list[float]:
    """Hinton (2012), lecture 6e."""
    p, v, path = 1.0, 0.0, []
    for gradient in GRADIENTS:
        g = gradient + settings.weight_decay * p
        v = (settings.beta2 or 0.99) * v + (1 - (settings.beta2 or 0.99)) * g * g
        p -= settings.lr * g / (math.sqrt(v) + 1e-8)
        path.append(p)
    return path


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize(
    ("settings", "by_hand"),
    [
        (TrainingSettings("sgd", 0.5), sgd),
        (TrainingSettings("adam", 0.1), adam),
        (TrainingSettings("adam", 0.1, beta1=0.0, beta2=0.9), adam),
        (TrainingSettings("rmsprop", 0.1), rmsprop),
        (TrainingSettings("rmsprop", 0.1, beta2=0.5), rmsprop),
    ],
)
def test_steps_are_those_of_the_equations(settings: TrainingSettings, by_hand: Update, weight_decay: float) -> None:
    settings = TrainingSettings(**{**vars(settings), "weight_decay": weight_decay})
    parameter = nn.Parameter(torch.ones(1, dtype=torch.float64))
    optimiser = build_optimiser(settings, [parameter])
    path = []
    for gradient in GRADIENTS:
        parameter.grad = torch.full_like(parameter, gradient)
        optimiser.step()
        path.append(parameter.item())
    assert path == pytest.approx(by_hand(settings))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (TrainingSettings(decay=0.5, decay_after=4), [1, 1, 1, 1, 0.5, 0.25]),  # Zaremba's small model
        (TrainingSettings(decay=1 / 1.15, decay_after=2), [1, 1, 1 / 1.15, 1 / 1.15**2]),  # his large one, sooner
        (TrainingSettings(decay=0.9, decay_after=0), [0.9, 0.81]),
    ],
)
def test_rates_decay_by_epoch(settings: TrainingSettings, expected: list[float]) -> None:
    assert [learning_rate(settings, epoch) for epoch in range(1, len(expected) + 1)] == pytest.approx(expected)


def test_rates_are_quartered_where_validation_stalls() -> None:
    settings = TrainingSettings(lr=20, schedule="plateau", decay=0.25)
    history = [9.0, 8.0, 8.5, 8.0, 7.0, 7.5]
    rates = [learning_rate(settings, epoch + 1, history[:epoch]) for epoch in range(len(history) + 1)]
    assert rates == [20, 20, 20, 5, 1.25, 1.25, 0.3125]


@pytest.mark.parametrize(
    ("history", "patience", "expected"),
    [
        ([5.0, 6.0, 7.0], 0, False),
        ([5.0, 6.0], 1, False),  # only the last epoch, which the patience covers, was better
        ([5.0, 5.5, 6.0], 1, True),
        ([5.0, 4.0, 4.5], 1, False),  # better than all but the last
        ([3.0, 6.0, 5.0, 4.0], 2, True),
    ],
)
def test_averaging_begins_where_validation_no_longer_falls(history: list[float], patience: int, expected: bool) -> None:
    assert averaging_begins(history, patience) == expected


@pytest.mark.parametrize(("epochs", "begins"), [(3, False), (4, True)])
def test_averaging_needs_epochs_enough(epochs: int, begins: bool) -> None:
    settings = TrainingSettings(average_patience=1, epochs=epochs, patience=0)
    rising = [7.0, 7.5, 8.0, 8.5][: epochs - 1]  # the mean that begins after the last epoch is no mean
    assert any(averaging_begins(rising[:done], 1) for done in range(len(rising) + 1)) == begins
    assert (never_reached(settings, budget_of(settings, 10, 1000)) == []) == begins


@pytest.mark.parametrize(
    ("history", "patience", "average_patience", "expected"),
    [
        ([9.0, 8.0, 8.5, 8.5], 0, 0, False),
        ([9.0, 8.0, 8.5], 2, 0, False),
        ([9.0, 8.0, 8.5, 8.0], 2, 0, True),
        ([], 1, 0, False),
        ([9.0, 8.0, 8.5, 8.6, 8.7, 8.8], 2, 5, False),  # the mean has not been begun
        ([9.0, 8.0, 8.5, 8.6], 1, 1, False),  # begun after the last epoch, so never measured
        ([9.0, 8.0, 8.5, 8.6, 8.2], 1, 1, True),  # measured once, and not better
        ([9.0, 8.0, 8.5, 8.6, 7.9], 1, 1, False),
    ],
)
def test_patience_ends_a_run_that_measures_what_it_will_export(
    history: list[float], patience: int, average_patience: int, expected: bool
) -> None:
    assert out_of_patience(history, patience, average_patience) == expected


def test_the_mean_is_that_of_all_steps_and_leaves_the_weights_alone() -> None:
    model = LanguageModel(ModelSettings(hidden=1, layers=1), 2)
    weight = model.embedding.weight
    average = Average()
    with average.applied(model):
        pass
    values = [1.0, 4.0, -2.0, 7.0]
    for step, value in enumerate(values):
        weight.data = torch.full((2, 1), value)
        if step == 0:
            average.add(model)  # before `begin`: nothing
            average.begin(model)
        else:
            average.add(model)
    with average.applied(model):
        assert weight.tolist() == [[pytest.approx(sum(values) / 4)]] * 2
    assert weight.tolist() == [[7.0]] * 2


@pytest.mark.parametrize("head", ["tied", "untied"])
def test_word_matrices_may_have_a_rate_of_their_own(head: Literal["tied", "untied"]) -> None:
    """Plain sgd with gradients of one moves each parameter by its rate."""
    model = LanguageModel(ModelSettings(head=head, hidden=4, layers=1), 7)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimiser = build_optimiser(TrainingSettings("sgd", 1.0), parameter_groups(model, word_rate=3.0))
    set_learning_rate(optimiser, 0.5)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimiser.step()
    for name, parameter in model.named_parameters():
        rate = 1.5 if name in WORD_MATRICES else 0.5
        torch.testing.assert_close(parameter.detach(), before[name] - rate)
    assert [group["lr"] for group in build_optimiser(TrainingSettings(), model.parameters()).param_groups] == [1.0]
