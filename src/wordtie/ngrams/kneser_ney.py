"""The n-gram model that every neural language model is first compared with: interpolated Kneser-Ney smoothing.

Chen & Goodman (1998), "An empirical study of smoothing techniques for language modeling", in their interpolated
form of Kneser-Ney smoothing and in their modified one. With h the context, h' the context without its first word
and a(hw) a count,

    p(w | h) = max(a(hw) - D(a(hw)), 0) / a(h.) + lambda(h) p(w | h'),

where lambda(h) is the share that the discounts took away, and under the shortest context lies the uniform 1 / V. The
highest order counts occurrences; a lower order counts the distinct words that an n-gram was seen after, except for
n-grams that open a sentence, before which no word can stand. With n1 n-grams of a = 1, n2 of a = 2 and so on, the
discount of an order is

    D = Y = n1 / (n1 + 2 n2)    or, modified,    D(a) = a - (a + 1) Y n[a + 1] / n[a],    a = 1, 2, 3 or more.

Modified and with all n-grams kept, the default, the test perplexity of the Penn Treebank 5-gram is 141.2, the
published figure (Mikolov's KN5); with one discount per order it is 143.5.

Shapes: N tokens, V words, G distinct n-grams of one order, C contexts of one order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordtie.data.batches import Ids
from wordtie.errors import require
from wordtie.ngrams.counts import Int64s, NgramTable, checked_ids, count_ngrams
from wordtie.ngrams.trie import Doubles, Level, NgramTrie, first_children, smallest, split_words

Bools: TypeAlias = NDArray[np.bool_]

FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)
"""Discounts of counts of 1, 2, and 3 or more, if a text is too small to estimate them: half of 1, 2 and 3."""


def fit_kneser_ney(
    ids_N: Ids,
    vocabulary_size: int,
    order: int = 5,
    *,
    eos_id: int | None,
    modified: bool = True,
    minimum_counts: Sequence[int] | None = None,
) -> NgramTrie:
    """Count and discount one stream of token ids.

    With `eos_id` a sentence ends at each `<eos>`, and no context reaches back over it; `None` reads the whole
    stream as one sentence, in which `<eos>` is a word like another. `minimum_counts` drops, for each order from
    1, n-grams counted less often (all are kept by default); their mass goes to the shorter context. If the discounts
    of an order cannot be estimated, they are `FALLBACK_DISCOUNTS`.
    Raises `DataError` for an empty text and ids outside the vocabulary; `SettingsError` for an order below 1 or
    minimum counts that are not one positive number per order.
    """
    ids_N = checked_ids(ids_N, vocabulary_size)
    require(order >= 1, f"order must be at least 1, got {order}")
    minimum_counts = [1] * order if minimum_counts is None else minimum_counts
    require(
        len(minimum_counts) == order and min(minimum_counts) >= 1,
        f"minimum_counts must be {order} numbers of at least 1, got {list(minimum_counts)}",
    )
    start_id = vocabulary_size
    tables = count_ngrams(_with_starts(ids_N, start_id, eos_id), vocabulary_size + 1, order, start_id)
    counts = _adjusted_counts(tables, start_id)
    unigram_V = _unigram(counts[0][:vocabulary_size], modified, minimum_counts[0])
    stored = _stored(tables, counts, minimum_counts)
    levels = (
        _level(tables[n], counts[n], stored[n - 1], stored[n], minimum_counts[n], modified) for n in range(1, order)
    )
    return NgramTrie(unigram_V, tuple(levels), eos_id)


def _with_starts(ids_N: Ids, start_id: int, eos_id: int | None) -> Int64s:
    """Return the stream with a start before each sentence."""
    after_eos = np.zeros(0, dtype=np.int64) if eos_id is None else np.flatnonzero(ids_N[:-1] == eos_id) + 1
    return np.insert(ids_N.astype(np.int64), np.concatenate((np.array([0]), after_eos)), start_id)


def _adjusted_counts(tables: Sequence[NgramTable], start_id: int) -> list[Int64s]:
    """Return a(hw) of each order: distinct words before, or occurrences in the highest order and at sentence starts."""
    opens_G = tables[0].keys == start_id
    adjusted = []
    for table, above in zip(tables, [*tables[1:], None], strict=True):
        if table is not tables[0]:
            opens_G = opens_G[table.context]
        if above is None:
            adjusted.append(table.counts.copy())
        else:
            distinct_G = np.bincount(above.suffix, minlength=len(table.keys))
            adjusted.append(np.where(opens_G, table.counts, distinct_G))
    adjusted[0][start_id] = 0  # a start is a context, never a word to predict
    return adjusted


def _unigram(count_V: Int64s, modified: bool, minimum_count: int) -> Doubles:
    """Return p(w) without context: the discounted counts, with the rest spread over all words."""
    kept_V = _kept(count_V, modified, minimum_count)
    total = int(count_V.sum())
    return kept_V / total + (count_V - kept_V).sum() / total / len(count_V)  # type: ignore[no-any-return]


def _kept(count_G: Int64s, modified: bool, minimum_count: int) -> Doubles:
    """Return a - D(a) of each n-gram, 0 for those that are dropped."""
    discount = np.array([0.0, *discounts(count_G, modified)])
    return np.where(count_G >= minimum_count, count_G - discount[np.minimum(count_G, 3)], 0.0)


def _stored(tables: Sequence[NgramTable], counts: Sequence[Int64s], minimum_counts: Sequence[int]) -> list[Bools]:
    """Return which n-grams of each order have a row: those that are kept, and the contexts of others that have one."""
    stored = [np.zeros(0, bool)] * len(tables)
    for n in range(len(tables) - 1, 0, -1):
        stored[n] = counts[n] >= minimum_counts[n]
        if n + 1 < len(tables):
            stored[n][tables[n + 1].context[stored[n + 1]]] = True
    stored[0] = np.ones(len(tables[0].keys), bool)
    return stored


def _level(
    table: NgramTable, count_G: Int64s, stored_C: Bools, stored_G: Bools, minimum_count: int, modified: bool
) -> Level:
    """Encode one order. Contexts with the same number of n-grams of each count form one group."""
    context_G, contexts = table.context, len(stored_C)
    kept_G = count_G >= minimum_count
    capped_G = np.where(kept_G, np.minimum(count_G, 3), 0)
    columns = [np.bincount(context_G[capped_G == count], minlength=contexts)[stored_C] for count in (1, 2, 3)]
    for weight_G in (count_G, np.where(kept_G, 0, count_G), stored_G):
        columns.append(np.bincount(context_G, weight_G, contexts)[stored_C].astype(np.int64))
    group_C, first_K = _distinct(columns)
    n1_K, n2_K, n3_K, total_K, dropped_K, children_K = (column[first_K] for column in columns)
    discount = np.array([0.0, *discounts(count_G, modified)])
    taken_K = n1_K * discount[1] + n2_K * discount[2] + n3_K * discount[3] + dropped_K
    code_of, values = _used(np.where(kept_G, count_G, 0)[stored_G])
    low_G, high_G = split_words(table.last[stored_G])
    return Level(
        group_C=smallest(group_C),
        children=smallest(children_K),
        total=total_K.astype(np.float64),
        backoff=np.divide(taken_K, total_K, out=np.ones(len(first_K)), where=children_K > 0),
        first_child=first_children(columns[-1]),
        word_G=low_G,
        high_G=high_G,
        count_G=smallest(code_of),
        kept=values - discount[np.minimum(values, 3)],
    )


def _used(count_G: Int64s) -> tuple[Int64s, Int64s]:
    """Return (index of each count among the distinct counts, these counts in ascending order)."""
    there = np.bincount(count_G) > 0
    return (np.cumsum(there) - 1)[count_G], np.flatnonzero(there)


def _distinct(columns: Sequence[Int64s]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return (index of each row among the distinct rows, a row with each index). The columns are not negative."""
    key, bound = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        largest = int(column.max(initial=0))
        if bound * (largest + 1) >= 2**63:
            values, key = np.unique(key, return_inverse=True)
            bound = len(values)
        key, bound = key * (largest + 1) + column, bound * (largest + 1)
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return number, first


def discounts(count_G: Int64s, modified: bool) -> tuple[float, float, float]:
    """Return the discounts of counts of 1, 2, and 3 or more; without `modified`, the same for all three.

    If a number of n-grams that they divide by is 0, or a modified discount is not above 0 and below its count, they are
    `FALLBACK_DISCOUNTS` (its first for all three, if not modified).
    """
    n1, n2, n3, n4 = (int(np.count_nonzero(count_G == count)) for count in (1, 2, 3, 4))
    low, middle, high = FALLBACK_DISCOUNTS
    if not modified:
        only = n1 / (n1 + 2 * n2) if n1 else low
        return only, only, only
    if not (n1 and n2 and n3):
        return low, middle, high
    ratio = n1 / (n1 + 2 * n2)
    found = (1 - 2 * ratio * n2 / n1, 2 - 3 * ratio * n3 / n2, 3 - 4 * ratio * n4 / n3)
    inside = all(0 < discount < count for count, discount in enumerate(found, start=1))
    return found if inside else (low, middle, high)
