"""Kneser-Ney and unigram baselines against the literal definition, by hand and on Penn Treebank."""

import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.kneser_ney import LiteralKneserNey
from wordtie.errors import DataError, SettingsError
from wordtie.ngrams.kneser_ney import discounts, fit_kneser_ney
from wordtie.ngrams.unigram import Unigram

PTB = Path(os.environ.get("WORDTIE_DATA", "")) / "ptb"
WORDS = 6
TEXTS = st.lists(st.integers(0, WORDS - 2), min_size=1, max_size=80)  # the last word is never seen in training


@settings(deadline=None, max_examples=100)
@given(
    train=TEXTS,
    heldout=st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=20),
    order=st.integers(1, 5),
    eos_id=st.sampled_from([0, None]),
    modified=st.booleans(),
    minimum=st.sampled_from([1, 2]),
)
def test_equals_the_definition(
    train: list[int], heldout: list[int], order: int, eos_id: int | None, modified: bool, minimum: int
) -> None:
    minimum_counts = [1] * min(order, 2) + [minimum] * (order - 2)
    model = fit_kneser_ney(
        np.array(train), WORDS, order, eos_id=eos_id, modified=modified, minimum_counts=minimum_counts
    )
    literal = LiteralKneserNey(train, WORDS, order, eos_id, modified, minimum_counts)
    for text in (train, heldout):
        found = np.exp(model.log_probabilities(np.array(text)))
        np.testing.assert_allclose(found, literal.probabilities(text), rtol=1e-10)
        for position in range(len(text)):
            each = [model.log_probabilities(np.array([*text[:position], word]))[-1] for word in range(WORDS)]
            assert each[text[position]] == pytest.approx(np.log(found[position]), rel=1e-10)
            assert np.exp(each).sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("modified", [True, False])
@pytest.mark.parametrize("order", [2, 3, 5])
def test_equals_the_definition_where_discounts_are_estimated(order: int, modified: bool) -> None:
    """A longer text with Zipf's law in it, so that no order of 2 or more needs the fallback."""
    generator = np.random.default_rng(3)
    train, heldout = (np.minimum(generator.zipf(1.3, size), 150) - 1 for size in (6000, 300))
    model = fit_kneser_ney(train, 151, order, eos_id=0, modified=modified)
    literal = LiteralKneserNey(train.tolist(), 151, order, 0, modified)
    assert modified is False or literal.discounts[2] != [0.5, 1.0, 1.5]
    np.testing.assert_allclose(
        np.exp(model.log_probabilities(heldout)), literal.probabilities(heldout.tolist()), rtol=1e-10
    )


def test_bigram_by_hand() -> None:
    """Two sentences, "a b <eos> a c <eos>", plain discounts.

    The bigrams are <s> a (twice), a b, a c, b <eos>, c <eos>: n1 = 4, n2 = 1, so D = 4/6. As unigrams a, b and c
    follow one word each and <eos> follows two: n1 = 3, n2 = 1, so D = 3/5, of 5 in all.
    """
    eos, a, b, c = range(4)
    model = fit_kneser_ney(np.array([a, b, eos, a, c, eos]), 4, 2, eos_id=eos, modified=False)
    left_for_uniform = 4 * 3 / 5 / 5
    p_a, p_eos = (1 - 3 / 5) / 5 + left_for_uniform / 4, (2 - 3 / 5) / 5 + left_for_uniform / 4
    np.testing.assert_allclose(model.unigram, [p_eos, p_a, p_a, p_a])
    p_a_at_start = (2 - 2 / 3) / 2 + (2 / 3) / 2 * p_a
    p_b_after_a = (1 - 2 / 3) / 2 + 2 * (2 / 3) / 2 * p_a
    p_eos_after_b = (1 - 2 / 3) / 1 + (2 / 3) / 1 * p_eos
    np.testing.assert_allclose(
        np.exp(model.log_probabilities(np.array([a, b, eos]))), [p_a_at_start, p_b_after_a, p_eos_after_b]
    )


def test_modified_discounts_by_hand() -> None:
    """n1 = 8, n2 = 4, n3 = 2, n4 = 1: Y = 1/2, D1 = 1/2, D2 = 2 - 3/4, D3+ = 3 - 1."""
    counts = np.array([1] * 8 + [2] * 4 + [3] * 2 + [4])
    assert discounts(counts, modified=True) == pytest.approx((0.5, 1.25, 2.0))
    assert discounts(counts, modified=False) == pytest.approx((0.5, 0.5, 0.5))
    assert discounts(counts[:8], modified=True) == (0.5, 1.0, 1.5)
    no_second_discount = np.array([1, 1, 1, 1, 2, 3])  # D2 = 2 - 3 * 4/6: nothing would be left for other words
    assert discounts(no_second_discount, modified=True) == (0.5, 1.0, 1.5)
    none_of_four = counts[:-1]  # D3+ = 3: n-grams seen three times would count for less than those seen twice
    assert discounts(none_of_four, modified=True) == (0.5, 1.0, 1.5)


def test_context_ends_with_the_sentence() -> None:
    ids = np.array([1, 2, 0, 2, 1, 0, 1, 1, 0])
    model = fit_kneser_ney(ids, 3, 3, eos_id=0)
    alone, second = model.log_probabilities(ids[3:6]), model.log_probabilities(ids)[3:6]
    assert second.tolist() == alone.tolist()


def test_unigram() -> None:
    model = Unigram.fit(np.array([2, 2, 0]), 4)
    assert model.probability.tolist() == [0.2, 0.2, 0.4, 0.2]
    assert model.log_probabilities(np.array([2, 3])).tolist() == pytest.approx([math.log(0.4), math.log(0.2)])


def test_refuses_what_it_cannot_fit() -> None:
    with pytest.raises(DataError, match="empty"):
        fit_kneser_ney(np.array([], dtype=np.int64), 3, eos_id=0)
    with pytest.raises(DataError, match="vocabulary has 3"):
        fit_kneser_ney(np.array([1, 0]), 3, eos_id=0).log_probabilities(np.array([3]))
    with pytest.raises(SettingsError, match="minimum_counts"):
        fit_kneser_ney(np.array([1, 0]), 3, 2, eos_id=0, minimum_counts=[1])
    with pytest.raises(SettingsError, match="order"):
        fit_kneser_ney(np.array([1, 0]), 3, 0, eos_id=0)


@pytest.mark.skipif(not (PTB / "train.txt").exists(), reason=f"Penn Treebank is not at {PTB}")
def test_penn_treebank_perplexity() -> None:
    """The published 5-gram is 141.2 (Mikolov's KN5), over 82,430 tokens with <eos>."""

    def words(split: str) -> list[str]:
        lines = (PTB / f"{split}.txt").read_text(encoding="utf-8").splitlines()
        return [word for line in lines for word in [*line.split(), "<eos>"]]

    train, test = words("train"), words("test")
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys(train))}
    train_ids, test_ids = (np.array([vocabulary[word] for word in text]) for text in (train, test))
    assert (len(train_ids), len(test_ids), len(vocabulary)) == (929_589, 82_430, 10_000)
    model = fit_kneser_ney(train_ids, len(vocabulary), eos_id=vocabulary["<eos>"])
    assert math.exp(-model.log_probabilities(test_ids).mean()) == pytest.approx(141.19, abs=0.01)
    unigrams = Unigram.fit(train_ids, len(vocabulary))
    assert 600 < math.exp(-unigrams.log_probabilities(test_ids).mean()) < 700
