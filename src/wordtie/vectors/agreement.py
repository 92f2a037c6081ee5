"""Do two sets of vectors find the same words similar? (press-wolf-2017, table 4)

Spearman's rho between the cosines of *all* pairs of words under the one and under the other. Ten thousand words make
50 million pairs. Their ranks come from sorting 64-bit keys, in place: the upper half is the cosine as an integer that
sorts alike, the lower half the pair's number; so the peak is about 17 bytes per pair, under 1 GB for 10,000 words.

Shapes: V words, P = V (V - 1) / 2 pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordtie.errors import DataError
from wordtie.vectors.word_vectors import Floats, WordVectors

LIMIT = 10_000
"""Number of words up to which every pair is used."""
_ROWS = 256
"""Rows of the matrix of cosines in memory at a time."""


@dataclass(frozen=True)
class Agreement:
    """rho over the pairs of `words` words, out of the `shared` that both sets have."""

    rho: float
    words: int
    pairs: int
    shared: int
    sampled: bool
    """Whether the words are a random sample, since there are more than the limit."""


def agreement_of(first: WordVectors, second: WordVectors, limit: int = LIMIT, seed: int = 0) -> Agreement:
    """Compute the agreement over all pairs of words that both have, or of `limit` random ones if there are more.

    Raises `DataError` if they share fewer than three words, or if one of them finds all pairs equally similar.
    """
    shared = [word for word in first.words if word in second.index]
    if len(shared) < 3:
        raise DataError(f"{first.name} and {second.name} have {len(shared)} words in common: nothing to compare")
    words = shared
    if len(shared) > limit:
        chosen = np.random.default_rng(seed).choice(len(shared), limit, replace=False)
        words = [shared[number] for number in np.sort(chosen).tolist()]
    a, b = (_ranks(vectors.unit_VE[[vectors.index[word] for word in words]]) for vectors in (first, second))
    rho = _correlation(a, b)
    if np.isnan(rho):
        raise DataError(f"{first.name} or {second.name} finds all pairs equally similar: there is no ranking")
    return Agreement(rho, len(words), len(a), len(shared), len(shared) > limit)


def _ranks(unit_VE: Floats) -> NDArray[np.int32]:
    """Return twice the mean rank of each pair's cosine, minus twice the middle rank, (P,)."""
    words = len(unit_VE)
    pairs = words * (words - 1) // 2
    keys = np.empty(pairs, np.uint64)
    done = 0
    for start in range(0, words, _ROWS):
        cosine = unit_VE[start : start + _ROWS] @ unit_VE.T
        for row in range(len(cosine)):
            part = cosine[row, start + row + 1 :]
            keys[done : done + len(part)] = _sortable(part).astype(np.uint64) << np.uint64(32)
            done += len(part)
    keys |= np.arange(pairs, dtype=np.uint32)
    keys.sort()
    return _ranks_of_sorted(keys)


def _sortable(values: Floats) -> NDArray[np.uint32]:
    """Map float32 to uint32 in the same order; -0 counts as 0."""
    bits = (values + np.float32(0)).view(np.uint32)
    return np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))


def _ranks_of_sorted(keys: NDArray[np.uint64], chunk: int = 1 << 18) -> NDArray[np.int32]:
    """Rank sorted keys: a group of equal cosines, which may span chunks, gets the sum of its first and last rank."""
    pairs = len(keys)
    ranks = np.empty(pairs, np.int32)
    start = 0
    while start < pairs:
        end = min(start + chunk, pairs)
        value = keys[start:end] >> np.uint64(32)
        cuts = np.flatnonzero(value[1:] != value[:-1]) + 1
        if end < pairs:
            if len(cuts) == 0:
                chunk *= 2  # one group fills the chunk: take a larger one
                continue
            end, value, cuts = start + int(cuts[-1]), value[: cuts[-1]], cuts[:-1]
        firsts = np.concatenate([[0], cuts])
        lasts = np.concatenate([cuts, [len(value)]]) - 1
        twice = np.repeat(2 * start + firsts + lasts - (pairs - 1), lasts - firsts + 1)
        ranks[(keys[start:end] & np.uint64(0xFFFFFFFF)).astype(np.int64)] = twice
        start = end
    return ranks


def _correlation(a: NDArray[np.int32], b: NDArray[np.int32], chunk: int = 1 << 20) -> float:
    """Return Pearson's r of values whose means are 0."""
    ab = aa = bb = 0.0
    for start in range(0, len(a), chunk):
        x, y = (side[start : start + chunk].astype(np.float64) for side in (a, b))
        ab, aa, bb = ab + float(x @ y), aa + float(x @ x), bb + float(y @ y)
    return ab / (aa * bb) ** 0.5 if aa and bb else float("nan")
