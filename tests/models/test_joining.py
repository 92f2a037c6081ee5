"""Streams put side by side go on as they would alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from wordtie.config import ModelSettings
from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.models.joining import join
from wordtie.models.language_model import LanguageModel
from wordtie.models.mixture import Mixture
from wordtie.models.network import Network
from wordtie.models.recent_words import AdaptiveMixture, RecentWords

VOCABULARY = Vocabulary([EOS, UNK, *"abcdefgh"])


def network(seed: int, core: str = "lstm") -> Network:
    torch.manual_seed(seed)
    model = LanguageModel(ModelSettings(hidden=5, layers=2, core=core), len(VOCABULARY))  # type: ignore[arg-type]
    return Network(model.requires_grad_(False).eval(), VOCABULARY)


MODELS: list[Any] = [
    network(1),
    network(1, "gru"),
    Mixture([network(1), network(2)], np.array([[0.3, 0.7]])),
    AdaptiveMixture([network(1), network(2)], np.array([[0.3, 0.7]]), RecentWords(0.2, 5)),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("asked_before", [True, False])
def test_join_is_the_opposite_of_select(model: Any, asked_before: bool) -> None:
    ids_TB = np.array([[2, 3, 4], [5, 6, 7]])
    whole = model.advance(ids_TB, model.initial_state(3))
    parts = [model.advance(ids_TB[:, place], model.initial_state(len(place))) for place in ([0], [1, 2])]
    if asked_before:
        model.next(parts[0])
    joined = join(parts)
    np.testing.assert_allclose(model.next(joined), model.next(whole), rtol=1e-5)
    more = np.array([[8, 9, 2]])
    after = model.next(model.advance(more, joined))
    np.testing.assert_allclose(after, model.next(model.advance(more, whole)), rtol=1e-5)


def test_memories_of_different_lengths_stay_apart() -> None:
    model = MODELS[3]
    short, long = (model.advance(np.full((words, 1), 2), model.initial_state(1)) for words in (1, 2))
    assert join([short, long]) is None
    assert join([short]) is short
    assert join([{}, {}]) is None
