"""The mean of what is read, in the first layer: the word matrix, which also scores, keeps its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.reference.variational_smoothing import mean_scores, mean_vector
from wordtie.config import ModelSettings, NoiseSettings
from wordtie.models.language_model import LanguageModel
from wordtie.noise.noisy_forward import FIRST_LAYER, MATRIX, Noise
from wordtie.noise.proposals import Proposal
from wordtie.noise.smoothed_prediction import fold_mean, fold_mean_into_layer, unfold_mean_from_layer

V, T, B, H, GAMMA = 7, 5, 3, 4, 0.3
PROPOSAL = Proposal.from_weights(np.full(V, GAMMA), np.arange(1.0, V + 1))
NOISE = Noise(NoiseSettings(kind="linear_interpolation", output_draw="none", prediction="mean", gamma=GAMMA), PROPOSAL)
IDS = torch.randint(V, (T, B), generator=torch.Generator().manual_seed(2))
CORES: list[dict[str, Any]] = [
    {"core": "lstm", "layers": 2},
    {"core": "gru", "layers": 2},
    {"core": "rnn", "layers": 1},
    {"core": "rhn", "layers": 2, "depth": 3},
    {"core": "rhn", "layers": 1, "depth": 2, "coupled_gates": False},
    {"core": "lstm", "layers": 1, "head": "tied_linear", "embedding": 3},
]
every_core = pytest.mark.parametrize("settings", CORES, ids=lambda each: "-".join(map(str, each.values())))


def model(**settings: Any) -> LanguageModel:
    torch.manual_seed(1)
    return LanguageModel(ModelSettings(hidden=H, init=0.5, **settings), V).eval()


def tensors_of(one: LanguageModel) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in one.state_dict().items()}


@every_core
def test_scores_of_the_first_layer_are_their_averages_over_the_draws(settings: dict[str, Any]) -> None:
    before = tensors_of(model(**settings))
    after = NOISE.for_prediction(before)
    (weight, bias), (folded, shifted) = ([each[name] for name in FIRST_LAYER] for each in (before, after))
    rows = len(weight)
    share, base = PROPOSAL.share_V.tolist(), before[MATRIX].tolist()
    expected = [
        mean_scores(weight.tolist(), bias.flatten()[:rows].tolist(), base, word, GAMMA, share) for word in range(V)
    ]
    torch.testing.assert_close(before[MATRIX] @ folded.T + shifted.flatten()[:rows], torch.tensor(expected))
    assert torch.equal(bias.flatten()[rows:], shifted.flatten()[rows:]), "deeper levels of a step have no input"


@every_core
@pytest.mark.parametrize("fused", [False, True])
def test_the_model_reads_means_and_scores_with_the_clean_matrix(settings: dict[str, Any], fused: bool) -> None:
    one = model(**settings).use(fused)
    base, share = one.embedding.weight.tolist(), PROPOSAL.share_V.tolist()
    means_VE = torch.tensor([mean_vector(base, word, [GAMMA] * V, share) for word in range(V)])
    expected, _ = one.forward_vectors(means_VE[IDS], one.initial_state(B), IDS)
    matrix_VE = one.embedding.weight.clone()
    with NOISE.frozen(one):
        query, _ = one(IDS, one.initial_state(B))
        assert torch.equal(one.output_matrix, matrix_VE)
    torch.testing.assert_close(query, expected)


@every_core
def test_it_is_frozen_for_a_while_and_undone_for_further_training(settings: dict[str, Any]) -> None:
    one = model(**settings)
    before = tensors_of(one)
    with NOISE.frozen(one):
        assert not torch.equal(one.state_dict()[FIRST_LAYER[0]], before[FIRST_LAYER[0]])
        frozen = tensors_of(one)
    assert all(torch.equal(tensor, before[name]) for name, tensor in one.state_dict().items())
    exported = NOISE.for_prediction(before)
    assert all(torch.equal(tensor, frozen[name]) for name, tensor in exported.items())
    for name, tensor in NOISE.for_training(exported).items():
        torch.testing.assert_close(tensor, before[name])


def test_two_matrices_have_the_mean_in_the_one_that_is_read() -> None:
    before = tensors_of(model(head="untied", layers=1))
    after = NOISE.for_prediction(before)
    assert torch.equal(after[MATRIX], fold_mean(before[MATRIX], PROPOSAL))
    assert all(torch.equal(tensor, before[name]) for name, tensor in after.items() if name != MATRIX)


def test_the_mode_is_the_clean_model() -> None:
    before = tensors_of(model(layers=1))
    mode = replace(NOISE, settings=replace(NOISE.settings, prediction=None))
    assert mode.for_prediction(before) == before


def test_a_layer_holds_no_mean_of_words_that_are_replaced_at_different_rates() -> None:
    uneven = Proposal.from_weights(np.linspace(0.1, 0.9, V), np.ones(V))
    with pytest.raises(ValueError, match="different rates"):
        fold_mean_into_layer(torch.ones(2, H), torch.ones(2), torch.ones(V, H), uneven)


def test_what_is_always_replaced_does_not_come_back() -> None:
    always = Proposal.from_weights(np.ones(V), np.ones(V))
    with pytest.raises(ValueError, match="always replaced"):
        unfold_mean_from_layer(torch.ones(2, H), torch.ones(2), torch.ones(V, H), always)
