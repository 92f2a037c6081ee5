"""Word vectors against human judgements: Spearman's rho of cosines and scores, over the pairs whose words are known.

Intervals are percentile bootstraps over pairs (Efron 1979). A resample is a weight for each pair; ranks within it
follow from cumulated weights, ties (a resample is full of them) sharing their mean rank, so that all resamples are
one array operation. Two sets of vectors are compared on the pairs that both cover, in the same resamples.

Shapes: P pairs, R resamples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordtie.config.paths import path_of
from wordtie.data.reading import decoded
from wordtie.errors import DataError
from wordtie.vectors.word_vectors import WordVectors

Doubles = NDArray[np.float64]
RESAMPLES = 1000
NUMBERS_AT_ONCE = 4_000_000
"""Resamples x pairs in memory."""
LEVEL = 0.95


@dataclass(frozen=True)
class Benchmark:
    """Pairs of words and how similar people find them."""

    name: str
    pairs: Sequence[tuple[str, str]]
    scores: Doubles
    """(P,)"""


class NothingToRankError(DataError):
    """Fewer than two pairs of a benchmark are covered, or all come out alike."""


@dataclass(frozen=True)
class Coverage:
    """The part of a benchmark that a set of vectors covers."""

    pairs: int
    covered: int
    """Number of pairs with both words known, over which rho is computed."""
    oov: float
    """Share of the benchmark's distinct words that have no vector."""


@dataclass(frozen=True)
class Similarity:
    """Agreement of vectors with a benchmark."""

    rho: float
    low: float | None
    high: float | None
    """Bounds of the 95 % interval, with `low`; None if there are too few pairs for one."""
    pairs: int
    covered: int
    oov: float
    """Share of words without a vector; these three fields are as in `Coverage`."""


@dataclass(frozen=True)
class Difference:
    """rho of the first vectors less rho of the second, on the pairs that both cover."""

    difference: float
    low: float | None
    high: float | None
    pairs: int


def read_benchmark(path: str | Path) -> Benchmark:
    """Read lines of `word word score`, separated by tabs or blanks; blank lines and lines beginning with # are skipped.

    Raises `DataError`, naming the line, for any other line, and for a file with fewer than two pairs.
    """
    path = path_of(path)
    pairs, scores = [], []
    try:
        lines = decoded(path.read_bytes(), str(path), 1, begins=True).split("\n")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; check the path") from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split("\t") if "\t" in line else line.split()
        try:
            first, second, score = (part.strip() for part in parts)
            if not (first and second and math.isfinite(float(score))):
                raise ValueError
        except ValueError as error:
            raise DataError(
                f"{path}, line {number}: must be two words and a number, parted by tabs or blanks, no header line; "
                f"it is {line[:60]!r}"
            ) from error
        pairs.append((first, second))
        scores.append(float(score))
    if len(pairs) < 2:
        raise DataError(f"{path}: has {len(pairs)} pairs; a rank correlation needs two at least")
    return Benchmark(path.stem, pairs, np.array(scores))


def cosines(vectors: WordVectors, benchmark: Benchmark) -> Doubles:
    """Return cosines, (P,), NaN for words without vectors. Raises `NothingToRankError` below two covered pairs."""
    rows = np.array([[-1 if (row := vectors.row(word)) is None else row for word in p] for p in benchmark.pairs])
    known_P = (rows >= 0).all(axis=1)
    if known_P.sum() < 2:
        raise NothingToRankError(
            f"{vectors.name}: has both words of only {int(known_P.sum())} of the {len(rows)} pairs of "
            f"{benchmark.name}: is it the right language?"
        )
    unit = vectors.unit_VE[rows].astype(np.float64)
    return np.where(known_P, (unit[:, 0] * unit[:, 1]).sum(axis=1), np.nan)


def coverage(vectors: WordVectors, benchmark: Benchmark) -> Coverage:
    """Return how much of the benchmark the vectors cover."""
    words = {word for pair in benchmark.pairs for word in pair}
    missing = {word for word in words if vectors.row(word) is None}
    covered = sum(missing.isdisjoint(pair) for pair in benchmark.pairs)
    return Coverage(len(benchmark.pairs), covered, len(missing) / len(words))


def similarity_of(vectors: WordVectors, benchmark: Benchmark, seed: int = 0) -> Similarity:
    """Compute rho with its interval and coverage. Raises `NothingToRankError`."""
    cosine_P = cosines(vectors, benchmark)
    known_P = ~np.isnan(cosine_P)
    ours, theirs = cosine_P[known_P], benchmark.scores[known_P]
    rho = _defined(ours, theirs, vectors, benchmark)
    low, high = _interval(np.concatenate([weighted_spearman(ours, theirs, w) for w in _resamples(len(ours), seed)]))
    return Similarity(rho, low, high, **asdict(coverage(vectors, benchmark)))


def difference(first: WordVectors, second: WordVectors, benchmark: Benchmark, seed: int = 0) -> Difference:
    """Compute the paired difference of two sets. Raises `NothingToRankError` if they share no pairs to rank."""
    a, b = cosines(first, benchmark), cosines(second, benchmark)
    known_P = ~(np.isnan(a) | np.isnan(b))
    if known_P.sum() < 2:
        raise NothingToRankError(f"{first.name} and {second.name} cover no two pairs of {benchmark.name} in common")
    a, b, theirs = a[known_P], b[known_P], benchmark.scores[known_P]
    rho = _defined(a, theirs, first, benchmark) - _defined(b, theirs, second, benchmark)
    resamples = _resamples(len(a), seed)
    found = [weighted_spearman(a, theirs, w) - weighted_spearman(b, theirs, w) for w in resamples]
    low, high = _interval(np.concatenate(found))
    return Difference(rho, low, high, len(a))


def spearman(a: Doubles, b: Doubles) -> float:
    """Compute Spearman's rho, with mean ranks for ties; NaN if one side is constant.

    >>> spearman(np.array([1.0, 2.0, 3.0, 3.0]), np.array([10.0, 30.0, 40.0, 40.0]))
    1.0
    """
    return float(weighted_spearman(a, b, np.ones((1, len(a))))[0])


def weighted_spearman(a: Doubles, b: Doubles, weights_RP: Doubles) -> Doubles:
    """Compute Spearman's rho of each resample, (R,): pair p is in resample r as often as `weights_RP` gives."""
    x, y = _centred_ranks(a, weights_RP), _centred_ranks(b, weights_RP)
    xy, xx, yy = ((weights_RP * u * v).sum(axis=1) for u, v in ((x, y), (x, x), (y, y)))
    with np.errstate(invalid="ignore", divide="ignore"):
        rho: Doubles = np.clip(xy / np.sqrt(xx * yy), -1, 1)
    return rho


def _centred_ranks(values: Doubles, weights_RP: Doubles) -> Doubles:
    """Return mean ranks minus the mean of all ranks, (R, P)."""
    _, group_P = np.unique(values, return_inverse=True)
    groups = int(group_P.max()) + 1
    order = np.argsort(group_P, kind="stable")
    starts = np.searchsorted(group_P[order], np.arange(groups))
    size_RG = np.add.reduceat(weights_RP[:, order], starts, axis=1)
    middle_RG = np.cumsum(size_RG, axis=1) - size_RG / 2
    centred: Doubles = middle_RG[:, group_P] - weights_RP.sum(axis=1, keepdims=True) / 2
    return centred


def _resamples(pairs: int, seed: int) -> Iterator[Doubles]:
    """Yield how often each resample has each pair, (R, P), for as many resamples at a time as fit into memory."""
    rng = np.random.default_rng(seed)
    at_once = max(1, NUMBERS_AT_ONCE // pairs)
    for first in range(0, RESAMPLES, at_once):
        count = min(at_once, RESAMPLES - first)
        yield rng.multinomial(pairs, np.full(pairs, 1 / pairs), count).astype(np.float64)


def _interval(values_R: Doubles) -> tuple[float, float] | tuple[None, None]:
    """Return the interval; None if more resamples lack a rho, their pairs being all one, than may lie outside of it."""
    if np.isnan(values_R).mean() > 1 - LEVEL:
        return None, None
    low, high = np.nanquantile(values_R, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _defined(ours: Doubles, theirs: Doubles, vectors: WordVectors, benchmark: Benchmark) -> float:
    """Return rho. Raises `NothingToRankError`, which says what has only one value."""
    rho = spearman(ours, theirs)
    if len(theirs) > 1 and np.ptp(theirs) == 0:
        raise NothingToRankError(
            f"{benchmark.name}: all pairs that {vectors.name} covers have the same score: nothing to rank"
        )
    if math.isnan(rho):
        raise NothingToRankError(
            f"{vectors.name}: all covered pairs of {benchmark.name} come out alike: nothing to rank"
        )
    return rho
