"""How often the next word is among the likeliest, against sorting every distribution."""

from __future__ import annotations

import numpy as np
import pytest

from wordtie.data.batches import Ids
from wordtie.data.vocabulary import Vocabulary
from wordtie.evaluation import hits as module
from wordtie.evaluation.hits import hits
from wordtie.models.mixture import Mixture
from wordtie.ngrams import NgramModel, fit_kneser_ney

VOCABULARY = Vocabulary(["<unk>", "<eos>", *(f"w{number}" for number in range(9))])
AMONG = (1, 3, 10, 99)


def ngrams(order: int) -> NgramModel:
    ids = np.random.default_rng(3).zipf(1.5, 400) % len(VOCABULARY)
    return NgramModel(VOCABULARY, fit_kneser_ney(ids, len(VOCABULARY), order, eos_id=1))


def by_sorting(model: NgramModel, ids: Ids, first: int, draws: int = 400) -> float:
    """Ties in random order, many times."""
    generator, state, found = np.random.default_rng(1), model.initial_state(1), 0.0
    for word in ids:
        p_V = np.exp(model.next(state)[0]).round(12)
        for _ in range(draws):
            order = np.lexsort((generator.random(len(p_V)), -p_V))
            found += word in order[:first]
        state = model.advance(np.array([[word]]), state)
    return found / draws


def test_ties_are_ordered_by_chance() -> None:
    model, ids = ngrams(2), np.array([3, 9, 1, 7, 8, 10])
    found = hits(model, ids, model.initial_state(1), AMONG)
    assert found == pytest.approx([by_sorting(model, ids, first) for first in AMONG], abs=0.15)
    assert found[-1] == len(ids)


@pytest.mark.parametrize("mixed", [False, True], ids=["n-grams", "mixture"])
def test_windows_do_not_matter(mixed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Mixture([ngrams(2), ngrams(3)], np.array([[0.3, 0.7]])) if mixed else ngrams(3)
    ids = np.random.default_rng(5).integers(len(VOCABULARY), size=50)
    whole = hits(model, ids, model.initial_state(1), AMONG)
    monkeypatch.setattr(module, "VALUES_AT_ONCE", 3 * len(VOCABULARY))
    assert hits(model, ids, model.initial_state(1), AMONG) == pytest.approx(whole)


def test_a_number_above_all_others_is_all_words() -> None:
    model = ngrams(2)
    ids = np.array([2, 3, 1])
    assert hits(model, ids, model.initial_state(1), (10**30,)).tolist() == [3.0]
