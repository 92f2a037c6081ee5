"""Mixtures against their definition; weights against a search by brute force."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from wordtie.data.batches import PADDING
from wordtie.data.vocabulary import Vocabulary
from wordtie.errors import SettingsError
from wordtie.models import mixture
from wordtie.models.mixture import (
    Judge,
    Mixture,
    best_mixture,
    expectation_maximisation,
    fit_weights,
    log_probabilities,
)
from wordtie.models.next_word import NextWordModel
from wordtie.ngrams.kneser_ney import fit_kneser_ney
from wordtie.ngrams.model import NgramModel

WORDS = 30
VOCABULARY = Vocabulary(["<eos>", "<unk>", *(f"w{number}" for number in range(2, WORDS))])
WEIGHTS = np.array([[0.2, 0.5, 0.3]])
BY_CLASS = np.array([[0.6, 0.3, 0.1], [0.1, 0.6, 0.3], [0.0, 0.2, 0.8]])


def text(size: int, seed: int) -> np.ndarray:
    """Words that depend on the one before them."""
    drawn = np.minimum(np.random.default_rng(seed).zipf(1.5, size), 10) - 1
    return np.cumsum(drawn) % WORDS


def ngrams(order: int, seed: int, eos_id: int | None = 0, size: int = 600) -> NgramModel:
    return NgramModel(VOCABULARY, fit_kneser_ney(text(size, seed), WORDS, order, eos_id=eos_id))


class WithoutClasses:
    """A model that cannot tell how familiar a context is."""

    def __init__(self, model: NgramModel) -> None:
        self._model, self.vocabulary = model, model.vocabulary
        self.initial_state, self.score, self.distributions = model.initial_state, model.score, model.distributions
        self.next, self.advance, self.select = model.next, model.advance, model.select


def three_parts() -> list[NextWordModel[Any]]:
    return [WithoutClasses(ngrams(1, 1)), ngrams(4, 2), ngrams(3, 3, eos_id=None)]


class AlmostWithout(WithoutClasses):
    """A model that gives exp(-1000) to a word, as imported networks without `<unk>` do."""

    def __init__(self, model: NgramModel, word: int) -> None:
        super().__init__(model)
        self.word = word
        self.score, self.distributions, self.next = self._score, self._distributions, self._next

    def _score(self, ids_TB: Any, state: Any, entropy: bool = False) -> Any:
        log_p_TB, entropy_TB, after = NgramModel.score(self._model, ids_TB, state, entropy)
        return np.where(ids_TB == self.word, -1000.0, log_p_TB), entropy_TB, after

    def _distributions(self, ids_TB: Any, state: Any) -> Any:
        p_TBV, after = NgramModel.distributions(self._model, ids_TB, state)
        p_TBV[..., self.word] = 0.0
        return p_TBV, after

    def _next(self, state: Any) -> Any:
        log_p_BV = NgramModel.next(self._model, state).astype(np.float32)
        log_p_BV[:, self.word] = -1000.0
        return log_p_BV


def test_a_probability_below_the_least_float_has_a_logarithm() -> None:
    """With entropies, too; as fitting the weights has it."""
    ids = text(60, 5)
    word = int(ids[7])
    parts: list[NextWordModel[Any]] = [AlmostWithout(ngrams(2, seed), word) for seed in (1, 2)]
    model = Mixture(parts, np.array([[0.25, 0.75]]))
    (fitted_NP, _), expected = log_probabilities(parts, [ids]), np.where(ids == word, -1000.0, 0.0)
    assert (fitted_NP[ids == word] == -1000).all()
    for entropy in (False, True):
        log_p_TB, _, _ = model.score(ids[:, None], model.initial_state(1), entropy=entropy)
        np.testing.assert_allclose(log_p_TB[ids == word, 0], expected[ids == word])
        assert np.isfinite(log_p_TB).all()


@pytest.mark.filterwarnings("error")
def test_the_next_word_may_have_a_probability_below_the_least_float() -> None:
    """Even if the only part that gives it more has a weight of 0."""
    word = 7
    parts: list[NextWordModel[Any]] = [ngrams(2, 1), *(AlmostWithout(ngrams(2, seed), word) for seed in (2, 3))]
    model = Mixture(parts, np.array([[0.0, 0.25, 0.75]]))
    state = model.advance(text(5, 5)[:, None], model.initial_state(1))
    every_word = np.arange(WORDS)[None]
    log_p_1V, _, _ = model.score(every_word, model.select(state, [0] * WORDS))
    assert log_p_1V[0, word] == pytest.approx(-1000)
    np.testing.assert_allclose(model.next(state), log_p_1V, rtol=1e-6)


@pytest.mark.parametrize("weights", [WEIGHTS, BY_CLASS], ids=["one weight a part", "by class"])
def test_equals_the_definition(weights: np.ndarray) -> None:
    """Word by word: the weights' sum of the parts' distributions. Classes are those of the second part, a 4-gram."""
    parts, ids = three_parts(), text(60, 5)
    model = Mixture(parts, weights)
    judge = parts[1]
    assert isinstance(judge, NgramModel)
    p_TBV, after = model.distributions(ids[:, None], model.initial_state(1))
    found, entropy, also_after = model.score(ids[:, None], model.initial_state(1), entropy=True)
    alone, none, _ = model.score(ids[:, None], model.initial_state(1))
    assert none is None
    assert entropy is not None
    state, states = model.initial_state(1), [part.initial_state(1) for part in parts]
    classes = set()
    for position, word in enumerate(ids):
        known = int(judge.context_class(ids[None, [position]], states[1])[0, 0]) if len(weights) > 1 else 0
        classes.add(known)
        p_V = sum(
            weight * np.exp(part.next(of_part)[0])
            for weight, part, of_part in zip(weights[known], parts, states, strict=True)
        )
        assert p_V.sum() == pytest.approx(1, abs=1e-9)
        for found_V in (p_TBV[position, 0], np.exp(model.next(state)[0])):
            np.testing.assert_allclose(found_V, p_V, rtol=1e-9)
        assert found[position, 0] == pytest.approx(math.log(p_V[word]), rel=1e-9)
        assert alone[position, 0] == pytest.approx(found[position, 0], rel=1e-9)
        assert entropy[position, 0] == pytest.approx(-(p_V @ np.log(p_V)), rel=1e-9)
        states = [part.advance(ids[[position], None], each) for part, each in zip(parts, states, strict=True)]
        state = model.advance(ids[[position], None], state)
    assert len(classes) == len(weights)
    for end in (after, also_after, state):
        np.testing.assert_allclose(model.next(end), model.next(state), rtol=1e-12)


def test_unequal_lengths_and_selection() -> None:
    model = Mixture(three_parts(), BY_CLASS)
    long, short = text(9, 5), text(4, 6)
    padded = np.full((9, 2), PADDING)
    padded[:, 0], padded[:4, 1] = long, short
    log_p, entropy, _ = model.score(padded, model.initial_state(2), entropy=True)
    assert entropy is not None
    assert not log_p[4:, 1].any()
    assert not entropy[4:, 1].any()
    alone, entropy_alone, after = model.score(short[:, None], model.initial_state(1), entropy=True)
    assert entropy_alone is not None
    np.testing.assert_allclose(log_p[:4, 1], alone[:, 0], rtol=1e-12)
    np.testing.assert_allclose(entropy[:4, 1], entropy_alone[:, 0], rtol=1e-12)
    both = model.advance(np.stack([long[:4], short], 1), model.initial_state(2))
    np.testing.assert_allclose(model.next(model.select(both, [1, 0, 1]))[[0, 2]], model.next(after)[[0, 0]], rtol=1e-12)


def test_entropy_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    model, ids = Mixture(three_parts(), WEIGHTS), text(20, 5).reshape(10, 2)
    whole = model.score(ids, model.initial_state(2), entropy=True)
    monkeypatch.setattr(mixture, "VALUES_AT_ONCE", 3 * 2 * WORDS)
    pieces = model.score(ids, model.initial_state(2), entropy=True)
    for a, b in zip(whole[:2], pieces[:2], strict=True):
        assert a is not None
        assert b is not None
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_weights_are_the_likeliest() -> None:
    log_p_NP = np.log(np.random.default_rng(1).uniform(0.01, 1, (200, 2)))
    weight = expectation_maximisation(log_p_NP)
    assert weight.sum() == pytest.approx(1)
    shares = np.linspace(0, 1, 1001)
    with np.errstate(divide="ignore"):
        by_share = [np.log(np.exp(log_p_NP) @ [share, 1 - share]).sum() for share in shares]
    assert weight[0] == pytest.approx(shares[int(np.argmax(by_share))], abs=2e-3)


def test_weights_do_not_change_with_the_level_of_probabilities() -> None:
    log_p_NP = np.log(np.random.default_rng(1).uniform(0.01, 1, (200, 3)))
    shifted = log_p_NP - np.arange(200)[:, None] * 10.0  # far below what exp can show
    np.testing.assert_allclose(expectation_maximisation(shifted), expectation_maximisation(log_p_NP), rtol=1e-9)


def test_a_part_that_is_best_everywhere_has_all_the_weight() -> None:
    log_p_NP = np.log([[0.5, 0.4], [0.2, 0.1999], [0.3, 0.2999]])
    assert expectation_maximisation(log_p_NP).tolist() == [1.0, 0.0]


def test_classes_with_few_tokens_keep_near_the_weights_of_all() -> None:
    log_p_NP = np.log(np.random.default_rng(1).uniform(0.01, 1, (200, 2)))
    class_N = np.zeros(200, np.intp)
    class_N[0] = 1
    weights = fit_weights(log_p_NP, class_N, 3)
    assert weights[1] == pytest.approx(weights[0], abs=0.06)
    assert weights[2].tolist() == expectation_maximisation(log_p_NP).tolist()  # a class that the text never shows
    np.testing.assert_allclose(weights.sum(1), 1)


def test_a_part_that_is_better_in_one_class_alone_has_weight_there() -> None:
    """Over all tokens, the first part has all the weight."""
    log_p_NP = np.log([[0.9, 1e-20]] * 5000 + [[0.45, 0.9]] * 200)
    assert expectation_maximisation(log_p_NP).tolist() == [1.0, 0.0]
    weights = fit_weights(log_p_NP, np.repeat([0, 1], [5000, 200]), 2)
    assert weights[0, 0] > 0.999
    assert weights[1, 1] == pytest.approx(180 / 220, abs=1e-3), "200 (1 - w) = 20 (1 + w), with 20 tokens of the prior"


def nats(model: NextWordModel[Any], ids: np.ndarray) -> float:
    return -float(model.score(ids[:, None], model.initial_state(1))[0].sum())


def fitted(parts: Sequence[NextWordModel[Any]], blocks: Sequence[np.ndarray]) -> Mixture:
    return best_mixture(parts, *log_probabilities(parts, blocks))


def test_mixture_is_never_worse_than_its_parts_on_validation_text() -> None:
    valid = text(500, 9)
    for parts in (three_parts(), [ngrams(2, 1), ngrams(2, 1)], [ngrams(1, 1)], [ngrams(5, 1, size=30), ngrams(2, 2)]):
        mixed = fitted(parts, np.array_split(valid, 3))
        assert nats(mixed, valid) <= min(nats(part, valid) for part in parts) + 1e-6


def test_classes_are_used_where_they_predict_better() -> None:
    """A text of two kinds: in contexts that the first n-grams know, these are right; elsewhere the others are."""
    generator = np.random.default_rng(3)
    cycle = np.tile(np.arange(2, 12), 200)
    other = generator.integers(12, WORDS, 2000)
    first = NgramModel(VOCABULARY, fit_kneser_ney(cycle, WORDS, 3, eos_id=None))
    second = WithoutClasses(NgramModel(VOCABULARY, fit_kneser_ney(other, WORDS, 1, eos_id=None)))
    valid = np.concatenate([np.concatenate([cycle[:20], generator.integers(12, WORDS, 20)]) for _ in range(20)])
    mixed = fitted([first, second], [valid])
    assert mixed.weights_RP.shape == (2, 2)
    assert mixed.weights_RP[1, 0] > 0.7 > 0.3 > mixed.weights_RP[0, 0]
    same_everywhere = fitted([WithoutClasses(first), second], [valid])
    assert same_everywhere.weights_RP.shape == (1, 2)
    assert nats(mixed, valid) < nats(same_everywhere, valid)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_the_part_that_tells_most_contexts_apart_classifies_them(order: list[int]) -> None:
    """Unigrams have one class, bigrams two: wherever they stand, they do not keep 4-grams from classifying."""
    parts = [[ngrams(1, 1), ngrams(2, 1), ngrams(4, 1)][each] for each in order]
    ids = text(60, 5)
    _, class_N = log_probabilities(parts, [ids])
    four = parts[order.index(2)]
    assert isinstance(four, NgramModel)
    state = [part.initial_state(1) for part in parts][order.index(2)]
    np.testing.assert_array_equal(class_N, four.context_class(ids[:, None], state)[:, 0])
    weights = np.full((four.context_classes, 3), 1 / 3)
    assert Judge.of(parts, len(weights)).part is four
    assert Mixture(parts, weights).score(ids[:, None], Mixture(parts, weights).initial_state(1))[0].all()


def test_refuses_what_is_no_mixture() -> None:
    model = ngrams(2, 1)
    other = NgramModel(Vocabulary(VOCABULARY.words[::-1]), model.trie)
    with pytest.raises(SettingsError, match="vocabularies"):
        Mixture([model, other], np.array([[0.5, 0.5]]))
    with pytest.raises(SettingsError, match="sum to one"):
        Mixture([model, model], np.array([[0.5, 0.6]]))
    with pytest.raises(SettingsError, match="weights"):
        Mixture([model, model], np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]))
    with pytest.raises(SettingsError, match="no words"):
        fitted([model], [])
