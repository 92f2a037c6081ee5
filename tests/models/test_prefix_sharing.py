"""Shared prefixes against one text after the other, for every kind of model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.models.test_mixture import VOCABULARY, WORDS, ngrams
from wordtie.config import ModelSettings
from wordtie.models import prefix_sharing
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import Network
from wordtie.models.next_word import NextWordModel
from wordtie.models.prefix_sharing import log_p_of_texts
from wordtie.models.recent_words import AdaptiveMixture, RecentWords


def network(**settings: Any) -> Network:
    torch.manual_seed(3)
    model = LanguageModel(ModelSettings(hidden=8, layers=2, **settings), WORDS)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return Network(model.requires_grad_(False).eval(), VOCABULARY)


def mixture() -> AdaptiveMixture:
    return AdaptiveMixture([network(), ngrams(3, 3)], np.array([[0.6, 0.4]]), RecentWords(0.4, 3, 2.0))


MODELS: dict[str, Callable[[], NextWordModel[Any]]] = {
    "network": network,
    "n-grams": lambda: ngrams(3, 3),
    "mixture with recent words": mixture,
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> NextWordModel[Any]:
    return MODELS[request.param]()


def texts() -> list[np.ndarray]:
    """As in n-best lists: shared beginnings, one that begins another, equal ones, an empty one, a long one."""
    draw = np.random.default_rng(5)
    trunk = draw.integers(0, WORDS, 12)
    found = [
        np.concatenate([trunk[:cut], draw.integers(0, WORDS, more)]) for cut in (0, 2, 5, 5, 12) for more in (1, 4)
    ]
    return [*found, trunk[:5], trunk[:5], trunk[:0], draw.integers(0, WORDS, 70)]


def one_by_one(model: NextWordModel[Any], state: Any = None, uncounted: int | None = None) -> list[float]:
    found = []
    for ids in texts():
        after = model.initial_state(1) if state is None else state
        log_p = 0.0
        for word in ids.tolist():
            log_p += 0.0 if word == uncounted else float(model.next(after)[0, word])
            after = model.advance(np.array([[word]]), after)
        found.append(log_p)
    return found


def test_equals_one_text_after_the_other(model: NextWordModel[Any]) -> None:
    assert log_p_of_texts(model, texts()).tolist() == pytest.approx(one_by_one(model), rel=1e-5, abs=1e-6)


def test_continues_a_state_and_leaves_it_as_it_was(model: NextWordModel[Any]) -> None:
    state = model.advance(np.array([[3], [4], [3]]), model.initial_state(1))
    before = model.next(state)
    found = log_p_of_texts(model, texts(), state)
    assert found.tolist() == pytest.approx(one_by_one(model, state), rel=1e-5, abs=1e-6)
    assert np.abs(found - log_p_of_texts(model, texts())).max() > 0.1
    np.testing.assert_array_equal(model.next(state), before)


def test_an_id_may_be_left_out_of_the_sums(model: NextWordModel[Any]) -> None:
    left_out = int(texts()[0][0])
    found = log_p_of_texts(model, texts(), uncounted=left_out)
    assert found.tolist() == pytest.approx(one_by_one(model, uncounted=left_out), rel=1e-5, abs=1e-6)


def test_no_matter_how_many_at_once_or_in_which_order(
    model: NextWordModel[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = log_p_of_texts(model, texts()).tolist()
    assert log_p_of_texts(model, texts()[::-1]).tolist() == expected[::-1]
    monkeypatch.setattr(prefix_sharing, "TOKENS_AT_ONCE", 4)
    monkeypatch.setattr(prefix_sharing, "STREAMS", 2)
    assert log_p_of_texts(model, texts(), texts_at_once=3).tolist() == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_equal_texts_have_the_same_log_p_to_the_bit(model: NextWordModel[Any]) -> None:
    found = log_p_of_texts(model, texts())
    assert found[10] == found[11]


def test_a_shared_prefix_is_read_once() -> None:
    """Words that are scored: those of the trie."""
    model, read = ngrams(3, 3), []

    class Counted:
        vocabulary = model.vocabulary
        initial_state, select = model.initial_state, model.select

        def score(self, ids_TB: np.ndarray, state: Any) -> Any:
            read.append(int((ids_TB >= 0).sum()))
            return model.score(ids_TB, state)

    counted: Any = Counted()
    log_p_of_texts(counted, texts())
    assert sum(read) == len({tuple(ids[: end + 1].tolist()) for ids in texts() for end in range(len(ids))})


def test_nothing_to_score() -> None:
    assert log_p_of_texts(ngrams(3, 3), []).tolist() == []
    assert log_p_of_texts(ngrams(3, 3), [np.zeros(0, np.int32)]).tolist() == [0.0]
