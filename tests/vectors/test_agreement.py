"""Agreement of embeddings: exact ranks of all pairs, ties and chunks included."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from wordtie.errors import DataError
from wordtie.vectors import agreement as agreement_module
from wordtie.vectors.agreement import agreement_of
from wordtie.vectors.similarity import spearman
from wordtie.vectors.word_vectors import WordVectors


def vectors(seed: int, words: int = 70, like: WordVectors | None = None) -> WordVectors:
    matrix = np.random.default_rng(seed).normal(size=(words, 5)).astype(np.float32)
    if like is not None:
        matrix += like.matrix_VE
    return WordVectors([f"w{n}" for n in range(words)], matrix, name=str(seed))


def by_hand(first: WordVectors, second: WordVectors) -> float:
    above = np.triu_indices(len(first.words), 1)
    return spearman(*((v.unit_VE @ v.unit_VE.T)[above].astype(np.float64) for v in (first, second)))


def test_is_spearmans_rho_over_all_pairs() -> None:
    first = vectors(0)
    second = vectors(1, like=first)
    result = agreement_of(first, second)
    assert result.rho == pytest.approx(by_hand(first, second), abs=1e-6)
    assert (result.words, result.pairs, result.sampled) == (70, 70 * 69 // 2, False)
    assert agreement_of(first, first).rho == pytest.approx(1)


@pytest.mark.parametrize("chunk", [1, 7, 50, 10_000])
def test_ties_share_their_mean_rank_over_chunks(chunk: int) -> None:
    values = np.random.default_rng(3).integers(-4, 4, 500).astype(np.float32) / np.float32(4)
    bits = agreement_module._sortable(values).astype(np.uint64)
    keys = np.sort((bits << np.uint64(32)) | np.arange(500, dtype=np.uint64))
    ranks = agreement_module._ranks_of_sorted(keys, chunk)
    other = np.random.default_rng(4).normal(size=500)
    exact = np.array([(values < v).sum() + ((values == v).sum() - 1) / 2 for v in values])
    np.testing.assert_array_equal(ranks, 2 * exact - 499)
    assert spearman(ranks.astype(float), other) == pytest.approx(spearman(values.astype(float), other))


def test_zeros_of_either_sign_are_a_tie() -> None:
    rising = np.array([-1.0, -1e-30, -0.0, 0.0, 1e-30, 1.0], np.float32)
    least, less, minus_zero, zero, more, most = agreement_module._sortable(rising).tolist()
    assert least < less < minus_zero == zero < more < most


def test_words_in_common_are_compared_and_a_sample_is_said() -> None:
    first = vectors(0)
    order = np.random.default_rng(1).permutation(70)[:50]
    second = WordVectors([first.words[n] for n in order.tolist()], first.matrix_VE[order])
    result = agreement_of(first, second, limit=20)
    assert (result.words, result.shared, result.sampled) == (20, 50, True)
    assert result.rho == pytest.approx(1)


def test_nothing_in_common_is_an_error() -> None:
    with pytest.raises(DataError, match="0 words in common"):
        agreement_of(vectors(0), WordVectors(["x", "y", "z"], np.eye(3, dtype=np.float32)))
    with pytest.raises(DataError, match="equally similar"):
        agreement_of(vectors(0), WordVectors(vectors(0).words, np.ones((70, 5), np.float32)))


def test_ten_thousand_words_fit_in_two_gigabytes() -> None:
    code = (
        "import numpy as np, resource\n"
        "from wordtie.vectors.agreement import agreement_of\n"
        "from wordtie.vectors.word_vectors import WordVectors\n"
        "words = [str(n) for n in range(10_000)]\n"
        "a, b = (np.random.default_rng(s).normal(size=(10_000, 8)).astype(np.float32) for s in (0, 1))\n"
        "result = agreement_of(WordVectors(words, a), WordVectors(words, a + b))\n"
        "assert result.pairs == 49_995_000 and not result.sampled and 0.3 < result.rho < 0.9\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(out) < 2_000_000  # kilobytes
