"""An interpolated n-gram model in sorted arrays: about five bytes per n-gram, exact, memory-mapped.

With h the context, h' the context without its first word, and under the shortest context the unigrams,

    p(w | h) = kept(hw) / total(h) + backoff(h) p(w | h').

The n-grams of an order are the rows of one level, sorted by context and then by last word, so that those which extend
a context lie together and a binary search finds a word among them. A row stores the last word and a code for `kept`.
The context of a row is implicit: each context has a code for its *group*, the contexts with the same number of
n-grams, total and back-off. Most contexts were seen once, so there are few groups, and two bytes usually hold the
code. Where the n-grams of a context begin is a sum over the contexts before it, stored for every 16th.

An n-gram that was never seen has row -1, and so has whatever extends it. The state of a stream is the rows of its last
1 to order - 1 words, each a context of the next level.

Shapes: T steps, B streams, N queries, V words, G n-grams of one level, C contexts of one level, K = order - 1 levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordtie.data.batches import Ids
from wordtie.ngrams.counts import checked_ids

Codes: TypeAlias = NDArray[np.unsignedinteger[Any]]
Doubles: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = NDArray[np.int64]

BLOCK = 16
"""Number of contexts from one whose first n-gram is stored to the next."""
TOKENS_AT_ONCE = 1 << 14
"""Tokens of a text that are looked up side by side."""
SMALLEST = float(np.finfo(np.float64).tiny)
"""Smallest p: back-off weights of 10^-99, as other programs write them, would multiply to 0."""


@dataclass(frozen=True)
class Level:
    """The n-grams of one order, and their contexts, the n-grams one order below (order 1: the words, then the start).

    The arrays may lie in a memory-mapped file.
    """

    group_C: Codes
    """The group of each context."""
    children: Codes
    """Per group: number of n-grams that extend each context of it."""
    total: Doubles
    """Per group: divisor of `kept`."""
    backoff: Doubles
    """Per group: the weight of the shorter context."""
    first_child: Codes
    """Row of the first n-gram that extends each `BLOCK`-th context."""
    word_G: Codes
    """The last word of each n-gram, or the lower 16 bits of its id."""
    high_G: Codes
    """The higher bits of the ids; empty if no word needs them."""
    count_G: Codes
    """The index into `kept` of each n-gram."""
    kept: Doubles
    """Discounted counts."""

    def spans(self, context_N: Rows) -> tuple[Rows, Rows, NDArray[np.intp]]:
        """Return (begin, end, group), (N,) each, of the n-grams that extend each context; none may be -1."""
        block_N, place_N = np.divmod(context_N, BLOCK)
        near_NB = (block_N * BLOCK)[:, None] + np.arange(BLOCK - 1)
        np.minimum(near_NB, len(self.group_C) - 1, out=near_NB)
        before_NB = np.where(np.arange(BLOCK - 1) < place_N[:, None], self.children[self.group_C[near_NB]], 0)
        begin_N = self.first_child[block_N].astype(np.int64) + before_NB.sum(1, dtype=np.int64)
        group_N = self.group_C[context_N].astype(np.intp)
        return begin_N, begin_N + self.children[group_N], group_N

    def words(self, row_N: Rows) -> NDArray[np.integer[Any]]:
        """Return the last word of n-grams."""
        low_N = self.word_G[row_N]
        if not len(self.high_G):
            return low_N
        return low_N | self.high_G[row_N].astype(np.int64) << 16

    def search(self, begin_N: Rows, end_N: Rows, word_N: Rows) -> Rows:
        """Return the row of each word from `begin` to `end`, -1 if absent: all binary searches in parallel."""
        low_N, size_N = begin_N.copy(), end_N - begin_N
        active = np.flatnonzero(size_N > 1)
        low, size, word = low_N[active], size_N[active], word_N[active]
        while len(active):
            half = size >> 1
            middle = low + half
            low = np.where(self.words(middle) <= word, middle, low)
            size -= half
            done = size == 1
            if done.any():
                low_N[active[done]] = low[done]
                here = ~done
                active, low, size, word = active[here], low[here], size[here], word[here]
        row_N = np.full(len(word_N), -1, np.int64)
        some = np.flatnonzero(size_N)
        found = some[self.words(low_N[some]) == word_N[some]]
        row_N[found] = low_N[found]
        return row_N

    def find(
        self, context_N: Rows, word_M: Rows, times_N: NDArray[np.intp] | None = None
    ) -> tuple[Rows, Doubles, Doubles]:
        """Return (row, kept / total, back-off), (M,) each, of context and word; -1, 0 and 1 for an unknown context.

        There is one context for each word or, with `times_N`, one for each run of that many words.
        """
        begin_N, end_N, group_N = (np.zeros(len(context_N), np.int64) for _ in range(3))
        backoff_N = np.ones(len(context_N))
        known = np.flatnonzero(context_N >= 0)
        if len(known):
            begin_N[known], end_N[known], group_N[known] = self.spans(context_N[known])
            backoff_N[known] = self.backoff[group_N[known]]
        if times_N is not None:
            begin_N, end_N, group_N = (np.repeat(each, times_N) for each in (begin_N, end_N, group_N))
            backoff_N = np.repeat(backoff_N, times_N)
        row_M = self.search(begin_N, end_N, word_M)
        found = np.flatnonzero(row_M >= 0)
        weight_M = np.zeros(len(word_M))
        weight_M[found] = self.weights(row_M[found], group_N[found])
        return row_M, weight_M, backoff_N

    def weights(self, row_N: Rows, group_N: NDArray[np.intp]) -> Doubles:
        """Return kept / total of n-grams whose contexts are in these groups."""
        return self.kept[self.count_G[row_N]] / self.total[group_N]

    def extensions(self, context_N: Rows) -> tuple[NDArray[np.intp], Rows, Doubles, Doubles]:
        """Return all n-grams that extend the contexts: their number for each context, (N,); last word and kept / total
        of each, (M,); and the back-off of each context, (N,). No context may be -1."""
        begin_N, end_N, group_N = self.spans(context_N)
        times_N = end_N - begin_N
        row_M = np.arange(times_N.sum()) + np.repeat(begin_N - (np.cumsum(times_N) - times_N), times_N)
        word_M = self.words(row_M).astype(np.int64)
        return times_N, word_M, self.weights(row_M, np.repeat(group_N, times_N)), self.backoff[group_N]


@dataclass(frozen=True)
class NgramTrie:
    """Unigrams and the levels above them. Word ids are 0 to V - 1; the id V is the start of a sentence."""

    unigram: Doubles
    """(V,): p(w) without context."""
    levels: tuple[Level, ...]
    """Orders 2 to `order`."""
    eos_id: int | None
    """The word after which context starts over; None: never."""

    @property
    def vocabulary_size(self) -> int:
        """Number of words, V."""
        return len(self.unigram)

    @property
    def order(self) -> int:
        """Words in the longest n-gram."""
        return len(self.levels) + 1

    @property
    def ngrams(self) -> int:
        """Number of stored n-grams, words included."""
        return len(self.unigram) + sum(len(level.word_G) for level in self.levels)

    def start(self, streams: int) -> Rows:
        """Return the state of streams at the start of a sentence: (B, K).

        Running text has one start, which says nothing about others: its streams start without a context.
        """
        rows_BK = np.full((streams, len(self.levels)), -1, np.int64)
        if self.eos_id is not None:
            rows_BK[:, :1] = self.vocabulary_size
        return rows_BK

    def score(self, ids_TB: Rows, rows_BK: Rows) -> tuple[Doubles, NDArray[np.int64]]:
        """Return (p of each id given what its stream has read, (T, B); the state before each id and after the last,
        (T + 1, B, K)).

        The ids are not checked.
        """
        steps, streams = ids_TB.shape
        ends_TB = np.zeros_like(ids_TB, bool) if self.eos_id is None else ids_TB == self.eos_id
        rows_TBK = np.empty((steps + 1, streams, len(self.levels)), np.int64)
        rows_TBK[0] = rows_BK
        label_TB = np.where(ends_TB, self.vocabulary_size, ids_TB)
        word_N = ids_TB.reshape(-1)
        p_N = self.unigram[word_N]
        for number, level in enumerate(self.levels):
            rows_TBK[1:, :, number] = label_TB
            row_N, weight_N, backoff_N = level.find(rows_TBK[:-1, :, number].reshape(-1), word_N)
            p_N *= backoff_N
            p_N += weight_N
            label_TB = np.where(ends_TB, -1, row_N.reshape(steps, streams))
        np.maximum(p_N, SMALLEST, out=p_N)
        return p_N.reshape(steps, streams), rows_TBK

    def log_probabilities(self, ids_N: Ids) -> Doubles:
        """Return the log (N,) of each token's probability given the tokens before it in its sentence, in nats.

        Raises `DataError` for an empty text and for ids outside the vocabulary.
        """
        ids_N = checked_ids(ids_N, self.vocabulary_size)
        state, found = self.start(1), []
        for first in range(0, len(ids_N), TOKENS_AT_ONCE):
            p_T1, rows_TBK = self.score(ids_N[first : first + TOKENS_AT_ONCE, None].astype(np.int64), state)
            state = rows_TBK[-1]
            found.append(np.log(p_T1[:, 0]))
        return np.concatenate(found)

    def probabilities(self, rows_NK: Rows) -> Doubles:
        """Return p of every word in each state: (N, V)."""
        if self._has_negative_weights:
            return self._probabilities_in_order(rows_NK)
        factor_N, parts = np.ones(len(rows_NK)), []
        for number in reversed(range(len(self.levels))):
            known = np.flatnonzero(rows_NK[:, number] >= 0)
            if not len(known):
                continue
            times, word_M, weight_M, backoff = self.levels[number].extensions(rows_NK[known, number])
            parts.append((np.repeat(known, times), word_M, weight_M * np.repeat(factor_N[known], times)))
            factor_N[known] *= backoff
        p_NV = self.unigram * factor_N[:, None]
        for state_M, word_M, weight_M in reversed(parts):
            p_NV[state_M, word_M] += weight_M
        return np.maximum(p_NV, SMALLEST, out=p_NV)

    @cached_property
    def _has_negative_weights(self) -> bool:
        """Whether an n-gram is less likely than its back-off, as files of other programs may have it."""
        return any(level.kept.min(initial=0.0) < 0 for level in self.levels)

    def _probabilities_in_order(self, rows_NK: Rows) -> Doubles:
        """Compute the same level by level, as in `score`: in another order, negative weights could give less than 0."""
        p_NV = np.repeat(self.unigram[None], len(rows_NK), axis=0)
        for number, level in enumerate(self.levels):
            known = np.flatnonzero(rows_NK[:, number] >= 0)
            if len(known):
                times, word_M, weight_M, backoff = level.extensions(rows_NK[known, number])
                p_NV[known] *= backoff[:, None]
                p_NV[np.repeat(known, times), word_M] += weight_M
        return np.maximum(p_NV, SMALLEST, out=p_NV)

    def of_words(self, word_M: Rows, rows_NK: Rows, times_N: NDArray[np.intp], levels: int) -> Doubles:
        """Return p (M,) of the next `times_N` words in each state, by the first `levels` levels alone."""
        p_M = self.unigram[word_M]
        for number, level in enumerate(self.levels[:levels]):
            _, weight_M, backoff_M = level.find(rows_NK[:, number], word_M, times_N)
            p_M *= backoff_M
            p_M += weight_M
        return p_M


def first_children(children_C: Rows) -> Codes:
    """Return `Level.first_child`, from the number of n-grams that extend each context."""
    return smallest((np.cumsum(children_C) - children_C)[::BLOCK])


def split_words(word_G: Rows) -> tuple[Codes, Codes]:
    """Return `Level.word_G` and `Level.high_G` of these words: three bytes for ids that do not fit in two."""
    if word_G.max(initial=0) < 1 << 16:
        return smallest(word_G), np.zeros(0, np.uint8)
    return (word_G & 0xFFFF).astype(np.uint16), smallest(word_G >> 16)


def smallest(values: NDArray[Any]) -> Codes:
    """Convert non-negative integers to the smallest type that holds them, of 1, 2, 4 or 8 bytes."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))
