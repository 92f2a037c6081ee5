"""The n-gram model as a `NextWordModel`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wordtie.data.batches import PADDING
from wordtie.data.vocabulary import Vocabulary
from wordtie.models.next_word import NextWordModel
from wordtie.ngrams import NgramModel, fit_kneser_ney

WORDS = 20
VOCABULARY = Vocabulary(["<eos>", "<unk>", *(f"w{number}" for number in range(2, WORDS))])
TRAIN = np.cumsum(np.minimum(np.random.default_rng(1).zipf(1.5, 500), 10) - 1) % WORDS
TEXT = np.cumsum(np.minimum(np.random.default_rng(2).zipf(1.5, 40), 10) - 1) % WORDS


@pytest.fixture(params=[0, None], ids=["sentences", "running text"])
def model(request: pytest.FixtureRequest) -> NgramModel:
    return NgramModel(VOCABULARY, fit_kneser_ney(TRAIN, WORDS, 3, eos_id=request.param))


def test_all_ways_to_ask_agree(model: NgramModel) -> None:
    next_word: NextWordModel[Any] = model  # mypy sees that it is one
    score, none, after = next_word.score(TEXT[:, None], next_word.initial_state(1))
    _, entropy, _ = next_word.score(TEXT[:, None], next_word.initial_state(1), entropy=True)
    p_TBV, also_after = next_word.distributions(TEXT[:, None], next_word.initial_state(1))
    assert none is None
    assert entropy is not None
    state = next_word.initial_state(1)
    for position, word in enumerate(TEXT):
        log_p_V = next_word.next(state)[0]
        np.testing.assert_allclose(np.log(p_TBV[position, 0]), log_p_V, rtol=1e-12)
        assert score[position, 0] == pytest.approx(log_p_V[word], rel=1e-12)
        assert entropy[position, 0] == pytest.approx(-(np.exp(log_p_V) @ log_p_V), rel=1e-10)
        state = next_word.advance(np.array([[word]]), state)
    assert state.tolist() == after.tolist() == also_after.tolist()


def test_streams_of_unequal_length(model: NgramModel) -> None:
    ids_TB = np.full((10, 2), PADDING)
    ids_TB[:, 0], ids_TB[:4, 1] = TEXT[:10], TEXT[20:24]
    log_p_TB, entropy_TB, _ = model.score(ids_TB, model.initial_state(2), entropy=True)
    alone, entropy_alone, _ = model.score(TEXT[20:24, None], model.initial_state(1), entropy=True)
    assert entropy_TB is not None
    assert entropy_alone is not None
    assert log_p_TB[:4, 1].tolist() == alone[:, 0].tolist()
    assert entropy_TB[:4, 1].tolist() == pytest.approx(entropy_alone[:, 0].tolist(), rel=1e-12)
    assert not log_p_TB[4:, 1].any()
    assert not entropy_TB[4:, 1].any()


def test_streams_are_selected(model: NgramModel) -> None:
    state = model.advance(TEXT[:8].reshape(4, 2), model.initial_state(2))
    twice = model.select(state, [1, 1, 0])
    np.testing.assert_array_equal(model.next(twice), model.next(state)[[1, 1, 0]])


def test_context_classes_by_hand() -> None:
    """Trained on "w2 w3 w4 <eos>": "w3 w4" was seen, so was "<start> w2", and "w4 w3" was not."""
    model = NgramModel(VOCABULARY, fit_kneser_ney(np.array([2, 3, 4, 0]), WORDS, 4, eos_id=0))
    ids_T1 = np.array([2, 3, 4, 3, 4, 0, 5])[:, None]
    assert model.context_classes == 3
    # before w2: <start>; w3: <start> w2; w4: <start> w2 w3; w3: w2 w3 w4; w4: w3 alone; <eos>: w3 w4; w5: <start>
    assert model.context_class(ids_T1, model.initial_state(1))[:, 0].tolist() == [0, 1, 2, 2, 0, 1, 0]
    unigrams = NgramModel(VOCABULARY, fit_kneser_ney(TRAIN, WORDS, 1, eos_id=0))
    assert unigrams.context_classes == 1
    assert not unigrams.context_class(ids_T1, unigrams.initial_state(1)).any()
