"""Interpolated Kneser-Ney n-grams: the baseline every neural language model is first held against.

Chen & Goodman (1998), "An empirical study of smoothing techniques for language modeling", in their interpolated
form of Kneser-Ney smoothing and in their modified one. With h the context, h' the context without its first word
and a(hw) a count,

    p(w | h) = max(a(hw) - D(a(hw)), 0) / a(h.) + lambda(h) p(w | h'),

where lambda(h) is whatever the discounts took away, and under the shortest context lies the uniform 1 / V. The
highest order counts occurrences; a lower order counts the distinct words that an n-gram was seen after, except for
n-grams that open a sentence, before which no word can stand. With n1 n-grams of a = 1, n2 of a = 2 and so on, the
discount of an order is

    D = Y = n1 / (n1 + 2 n2)    or, modified,    D(a) = a - (a + 1) Y n[a + 1] / n[a],    a = 1, 2, 3 or more.

Modified and with no n-gram dropped, the default, the Penn Treebank 5-gram comes to a test perplexity of 141.2, which
is the published figure (Mikolov's KN5); with one discount an order it is 143.5.

Shapes: N tokens, V words, G distinct n-grams of one order, C contexts of one order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordtie.data.batches import Ids
from wordtie.errors import require
from wordtie.ngrams.counts import Int64s, NgramTable, checked_ids, count_ngrams

Doubles: TypeAlias = NDArray[np.float64]

FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)
"""For counts of 1, 2, 3 and more, where a text is too small to estimate them: half of 1, 2 and 3."""


@dataclass(frozen=True)
class OrderWeights:
    """One order of the model. The last row of either array stands for what was never seen (label -1)."""

    table: NgramTable
    discounted: Doubles
    """(G + 1,): (a - D) / a(h.) of each n-gram, then 0."""
    backoff: Doubles
    """(C + 1,): lambda of each context, then 1."""


@dataclass(frozen=True)
class KneserNey:
    """A fitted model; `KneserNey.fit` makes one."""

    vocabulary_size: int
    eos_id: int | None
    unigram: Doubles
    """(V,): p(w) in no context."""
    higher: tuple[OrderWeights, ...]
    """Orders 2 to `order`."""

    @classmethod
    def fit(
        cls,
        ids_N: Ids,
        vocabulary_size: int,
        order: int = 5,
        *,
        eos_id: int | None,
        modified: bool = True,
        minimum_counts: Sequence[int] | None = None,
    ) -> KneserNey:
        """Count and discount one stream of token ids.

        With `eos_id` a sentence ends at each `<eos>`, and no context reaches back over it; `None` reads the whole
        stream as one sentence, in which `<eos>` is a word like another. `minimum_counts` drops, for each order from
        1, n-grams counted less often (all are kept by default). An order whose discounts cannot be estimated takes
        `FALLBACK_DISCOUNTS`.
        Raises `DataError` for an empty text and ids outside the vocabulary; `SettingsError` for an order below 1 or
        minimum counts that are not one positive number an order.
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
        unigram = _order_weights(tables[0], counts[0], 1, modified, minimum_counts[0])
        higher = tuple(
            _order_weights(table, count_G, len(below.keys), modified, minimum)
            for below, table, count_G, minimum in zip(
                tables[:-1], tables[1:], counts[1:], minimum_counts[1:], strict=True
            )
        )
        unigram_V = unigram.discounted[:vocabulary_size] + unigram.backoff[0] / vocabulary_size
        return cls(vocabulary_size, eos_id, unigram_V, higher)

    def log_probabilities(self, ids_N: Ids) -> Doubles:
        """Natural log (N,) of each token's probability given the tokens before it in its sentence, in nats.

        Raises `DataError` for an empty text and for ids outside the vocabulary.
        """
        ids_N = checked_ids(ids_N, self.vocabulary_size)
        ids_M = _with_starts(ids_N, self.vocabulary_size, self.eos_id)
        label_M = ids_M
        probability_M = np.append(self.unigram, 1.0)[ids_M]  # the starts are never predicted, and dropped below
        for weights in self.higher:
            context_M = np.concatenate((np.array([-1]), label_M[:-1]))
            label_M = weights.table.find(context_M, ids_M)
            probability_M *= weights.backoff[context_M]
            probability_M += weights.discounted[label_M]
        logs_N: Doubles = np.log(probability_M[ids_M != self.vocabulary_size])
        return logs_N


def _with_starts(ids_N: Ids, start_id: int, eos_id: int | None) -> Int64s:
    """The stream with a start before each sentence."""
    after_eos = np.zeros(0, dtype=np.int64) if eos_id is None else np.flatnonzero(ids_N[:-1] == eos_id) + 1
    return np.insert(ids_N.astype(np.int64), np.concatenate((np.array([0]), after_eos)), start_id)


def _adjusted_counts(tables: Sequence[NgramTable], start_id: int) -> list[Int64s]:
    """a(hw) of each order: distinct words before it, or occurrences in the highest order and at a sentence's start."""
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


def _order_weights(
    table: NgramTable, count_G: Int64s, contexts: int, modified: bool, minimum_count: int
) -> OrderWeights:
    """Discount the counts of one order and give each context what was taken from its n-grams."""
    context_G = table.context
    discount = np.array([0.0, *discounts(count_G, modified)])
    kept_G = np.where(count_G >= minimum_count, count_G - discount[np.minimum(count_G, 3)], 0.0)
    total_C = np.bincount(context_G, weights=count_G, minlength=contexts)
    taken_C = np.bincount(context_G, weights=count_G - kept_G, minlength=contexts)
    backoff_C = np.divide(taken_C, total_C, out=np.ones(contexts), where=total_C > 0)
    discounted_G = np.divide(kept_G, total_C[context_G], out=np.zeros(len(kept_G)), where=count_G > 0)
    return OrderWeights(table, np.append(discounted_G, 0.0), np.append(backoff_C, 1.0))


def discounts(count_G: Int64s, modified: bool) -> tuple[float, float, float]:
    """What to take from counts of 1, 2, and 3 or more; without `modified` the same from all three.

    Where a number of n-grams they divide by is 0, or a discount is not above 0 and at most its count, they are
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
    inside = all(0 < discount <= count for count, discount in enumerate(found, start=1))
    return found if inside else (low, middle, high)
