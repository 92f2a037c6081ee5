"""Several sets of vectors on several benchmarks of word similarity, and the differences between the sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wordtie.vectors.agreement import agreement_of
from wordtie.vectors.similarity import Benchmark, NothingToRankError, coverage, difference, similarity_of
from wordtie.vectors.word_vectors import WordVectors


@dataclass(frozen=True)
class Judgement:
    """Two tables: names of benchmark and vectors, then the fields of `Similarity` or `Difference`."""

    similarity: Sequence[dict[str, Any]]
    """A row for each benchmark and set. If nothing can be ranked, rho and its interval are None."""
    difference: Sequence[dict[str, Any]]
    """The first set less each further one, on the pairs that both cover."""
    not_ranked: Sequence[NothingToRankError]
    """Reasons why rows have no rho."""


def judge(sets: Sequence[WordVectors], benchmarks: Sequence[Benchmark], seed: int = 0) -> Judgement:
    """Rank each set on each benchmark; `seed` is that of the bootstrap.

    >>> import numpy as np
    >>> vectors = WordVectors(["cat", "dog", "car"], np.array([[1, 0], [1, 0.1], [0, 1]], np.float32), name="three")
    >>> pairs = Benchmark("animals", [("cat", "dog"), ("cat", "car")], np.array([9.0, 1.0]))
    >>> judge([vectors], [pairs]).similarity[0]["rho"]
    1.0
    """
    first, *others = sets
    rows, compared, missing = [], [], []
    for benchmark in benchmarks:
        for vectors in sets:
            row: dict[str, Any] = {"benchmark": benchmark.name, "vectors": vectors.name}
            try:
                row |= asdict(similarity_of(vectors, benchmark, seed))
            except NothingToRankError as error:
                missing.append(error)
                row |= {"rho": None, "low": None, "high": None, **asdict(coverage(vectors, benchmark))}
            rows.append(row)
        for vectors in others:
            try:
                found = difference(first, vectors, benchmark, seed)
            except NothingToRankError:  # one of the two has no rho, or they share no pairs
                continue
            compared.append({"benchmark": benchmark.name, "vectors": f"{first.name} - {vectors.name}", **asdict(found)})
    return Judgement(rows, compared, missing)


def agreements(sets: Sequence[WordVectors], seed: int = 0) -> list[dict[str, Any]]:
    """Return the agreement of every two of the sets: their names, then the fields of `Agreement`."""
    return [
        {"vectors": f"{a.name} ~ {b.name}", **asdict(agreement_of(a, b, seed=seed))}
        for number, a in enumerate(sets)
        for b in sets[number + 1 :]
    ]
