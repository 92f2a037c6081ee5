"""Counts of words, of their distinct neighbours and of n-grams, with numpy sorting alone.

Data noising (Xie et al. 2017) and its variational reading (Kong et al. 2019, table 1 and section 4.2) replace a
word i at a rate in proportion to distinct(i, .) / count(i), the different words that follow it for each time it
is seen, and draw the new word in proportion to distinct(., i), the different words it follows. Kneser-Ney
smoothing needs the same counts of longer n-grams. An n-gram is labelled by its row in a sorted table, and its key is

    key = (label of its first n - 1 words) * words + its last word,

so that one int64 holds an n-gram of any order, the n-grams of one context lie together, and sorting the keys of
one order numbers the n-grams that are the contexts of the next.

Shapes: N tokens, V words, G distinct n-grams of one order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordtie.data.batches import Ids
from wordtie.errors import DataError, require

Int64s: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class NeighbourCounts:
    """Occurrences of each word in a text, and the numbers of different words next to it: three arrays (V,)."""

    count: Int64s
    """count(i): occurrences."""
    distinct_left: Int64s
    """distinct(., i): different words seen just before it."""
    distinct_right: Int64s
    """distinct(i, .): different words seen just after it."""


@dataclass(frozen=True)
class NgramTable:
    """The distinct n-grams of one order, sorted by context and then by last word; a row's number is its label."""

    words: int
    """Number of word ids, by which a context label is multiplied."""
    keys: Int64s
    """(G,), ascending."""
    counts: Int64s
    """(G,): occurrences."""
    suffix: Int64s
    """(G,): label, in the table one order below, of the n-gram without its first word (0 for order 1)."""

    @property
    def context(self) -> Int64s:
        """(G,): label, in the table one order below, of the n-gram without its last word (0 for order 1)."""
        return self.keys // self.words

    @property
    def last(self) -> Int64s:
        """(G,): the last word of each n-gram."""
        return self.keys % self.words


def neighbour_counts(ids_N: Ids, vocabulary_size: int) -> NeighbourCounts:
    """Count words and neighbours in one stream; `<eos>` is a word like another, so neighbours cross it.

    Uses about 24 bytes per token besides the ids. Raises `DataError` for an empty text and for an id that is not below
    `vocabulary_size`.

    >>> counts = neighbour_counts(np.array([0, 1, 0, 1, 2]), vocabulary_size=3)
    >>> counts.count.tolist(), counts.distinct_left.tolist(), counts.distinct_right.tolist()
    ([2, 2, 1], [1, 1, 1], [1, 2, 0])
    """
    ids_N = checked_ids(ids_N, vocabulary_size)
    keys = ids_N[:-1].astype(np.int64)
    keys *= vocabulary_size
    keys += ids_N[1:]
    keys.sort()
    pairs = keys[np.diff(keys, prepend=-1) != 0]
    return NeighbourCounts(
        count=np.bincount(ids_N, minlength=vocabulary_size),
        distinct_left=np.bincount(pairs % vocabulary_size, minlength=vocabulary_size),
        distinct_right=np.bincount(pairs // vocabulary_size, minlength=vocabulary_size),
    )


def count_ngrams(ids_N: Ids, vocabulary_size: int, order: int, start_id: int | None = None) -> list[NgramTable]:
    """Return tables of the n-grams of order 1 to `order`; order 1 has a row for every id, seen or not.

    With `start_id` (an id below `vocabulary_size`) that word may only open an n-gram: no n-gram reaches back over it.
    Raises `DataError` for an empty text or an id that is not a word's and `SettingsError` for an order below 1.
    """
    ids_N = checked_ids(ids_N, vocabulary_size)
    require(order >= 1, f"order must be at least 1, got {order}")
    label_N = ids_N.astype(np.int64)
    every_id = np.arange(vocabulary_size, dtype=np.int64)
    counts = np.bincount(ids_N, minlength=vocabulary_size)
    tables = [NgramTable(vocabulary_size, every_id, counts, np.zeros_like(every_id))]
    may_end = np.ones(len(ids_N) - 1, dtype=bool) if start_id is None else ids_N[1:] != start_id
    for _ in range(order - 1):
        here = may_end & (label_N[:-1] >= 0)
        keys, row, counts = np.unique(
            label_N[:-1][here] * vocabulary_size + ids_N[1:][here], return_inverse=True, return_counts=True
        )
        suffix = np.empty_like(keys)
        suffix[row] = label_N[1:][here]
        tables.append(NgramTable(vocabulary_size, keys, counts, suffix))
        label_N = np.full(len(ids_N), -1, dtype=np.int64)
        label_N[1:][here] = row
    return tables


def checked_ids(ids: ArrayLike, vocabulary_size: int) -> Ids:
    """Return the ids as an array. Raises `DataError` if there is no token, or one is not an id of the vocabulary."""
    ids_N = np.asarray(ids)
    if ids_N.ndim != 1:
        raise DataError(f"token ids must be one row, got shape {ids_N.shape}")
    if not len(ids_N):
        raise DataError("there is no token to count: the text is empty")
    if ids_N.dtype.kind not in "iu":
        raise DataError(f"token ids must be whole numbers, got {ids_N.dtype}")
    if int(ids_N.min()) < 0 or int(ids_N.max()) >= vocabulary_size:
        raise DataError(f"token ids run from {ids_N.min()} to {ids_N.max()}; the vocabulary has {vocabulary_size}")
    return ids_N
