"""Minimal pairs: does a model find the grammatical sentence of a pair likelier (Marvin & Linzen 2018; BLiMP, 2020)?

    accuracy = (pairs whose good sentence has fewer bits + half of the ties) / pairs

A tie counts as half, as a guess would: to a word-level model, pairs that differ in words outside the vocabulary are
often one and the same text. Pairs with such words are counted apart, and accuracy is given without them, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wordtie.data.table import read_table, text_of
from wordtie.errors import DataError

if TYPE_CHECKING:
    from wordtie.inference.loading import LoadedModel

TIE = 1e-5
"""Difference in bits below which two scores are a tie: less is float rounding."""
GOOD, BAD = "sentence_good", "sentence_bad"
"""The columns of BLiMP."""


@dataclass(frozen=True)
class Pair:
    """Two sentences, the first of them grammatical."""

    good: str
    bad: str


@dataclass(frozen=True)
class PairScore:
    """A model's scores of a pair."""

    good_bits: float
    bad_bits: float
    oov: bool
    """Whether one of the sentences has a word outside the vocabulary."""

    @property
    def correct(self) -> float:
        """1 if the good sentence has fewer bits, 0 if it has more, 0.5 for a tie."""
        return 0.5 if self.tie else float(self.good_bits < self.bad_bits)

    @property
    def tie(self) -> bool:
        """Whether the sentences have the same score."""
        return self.good_bits == self.bad_bits or abs(self.good_bits - self.bad_bits) < TIE  # both may be infinite


@dataclass(frozen=True)
class PairAccuracy:
    """Accuracy on a set of pairs."""

    set: str
    pairs: int
    accuracy: float
    ties: int
    oov_pairs: int
    """Pairs with a word outside the vocabulary; `accuracy` includes them."""
    accuracy_without_oov: float | None
    """Accuracy on the other pairs; None if every pair has a word outside the vocabulary."""


def read_pairs(lines: Iterable[str], where: str, good: str = GOOD, bad: str = BAD) -> list[Pair]:
    """Read the pairs of a table: CSV, TSV or JSON Lines. Raises a `DataError` that names the line."""
    table = read_table(lines, where)
    places = {name: table.place(name) for name in (good, bad)}
    pairs = []
    for row in table.rows:
        for name, place in places.items():
            if not row.cells[place].strip():
                raise DataError(f"{where}, line {row.line}: has no sentence in column {name}: fix the row")
        pairs.append(Pair(*(text_of(row.cells[places[name]]) for name in (good, bad))))
    if not pairs:
        raise DataError(f"{where}: has no pairs, only a header: give one pair a row")
    return pairs


def score_pairs(loaded: LoadedModel, pairs: Sequence[Pair]) -> list[PairScore]:
    """Compute the bits of both sentences of each pair."""
    bits = loaded.score([sentence for pair in pairs for sentence in (pair.good, pair.bad)])
    return [
        PairScore(good_bits, bad_bits, _has_oov(loaded, pair))
        for pair, good_bits, bad_bits in zip(pairs, bits[::2], bits[1::2], strict=True)
    ]


def _has_oov(loaded: LoadedModel, pair: Pair) -> bool:
    tokenizer = loaded.tokenizer
    return any(word not in tokenizer.vocabulary for text in (pair.good, pair.bad) for word in tokenizer.words(text))


def accuracy(name: str, scores: Sequence[PairScore]) -> PairAccuracy:
    """Compute the accuracy over pairs, with the counts that it depends on.

    >>> scores = [PairScore(20.0, 25.0, False), PairScore(20.0, 20.0, True)]
    >>> accuracy("agreement", scores)
    PairAccuracy(set='agreement', pairs=2, accuracy=0.75, ties=1, oov_pairs=1, accuracy_without_oov=1.0)
    """
    known = [score for score in scores if not score.oov]
    return PairAccuracy(
        set=name,
        pairs=len(scores),
        accuracy=_share(scores),
        ties=sum(score.tie for score in scores),
        oov_pairs=len(scores) - len(known),
        accuracy_without_oov=_share(known) if known else None,
    )


def _share(scores: Sequence[PairScore]) -> float:
    return math.fsum(score.correct for score in scores) / len(scores)
