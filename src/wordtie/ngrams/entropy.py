"""The exact entropy of an interpolated n-gram model, from the n-grams that extend a context alone.

With f(x) = -x log x and p' the distribution in the shorter context h',

    H(h) = sum over v of f(p(v | h)) = b H(h') - b log b S(h') + sum over v that extend h of [f(p(v | h)) - f(b p'(v))],

where b = backoff(h): a word that does not extend h has probability b p'(v), and these add up without being listed. S is
the sum of the probabilities, which is 1 except for some models of other programs.
An unknown context has the entropy of the shorter one. Below the shortest context lie the unigrams.

Shapes: N states, K levels, U distinct contexts, M n-grams that extend them, V words.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wordtie.ngrams.trie import SMALLEST, Doubles, NgramTrie, Rows

EXTENSIONS_AT_ONCE = 1 << 18
"""Maximum n-grams held in memory at a time, unless a single context has more."""


def entropy(trie: NgramTrie, rows_NK: Rows) -> Doubles:
    """Return the entropy (N,), in nats, of the next word in each state."""
    entropy_N = np.full(len(rows_NK), _f(trie.unigram).sum())
    sum_N = np.full(len(rows_NK), trie.unigram.sum())
    for number in range(len(trie.levels)):
        known = np.flatnonzero(rows_NK[:, number] >= 0)
        _, first_U, which = np.unique(rows_NK[known, number], return_index=True, return_inverse=True)
        distinct = known[first_U]
        rows_UK, entropy_U, sum_U = rows_NK[distinct], entropy_N[distinct], sum_N[distinct]
        for part in _parts(trie, rows_UK[:, number], number):
            entropy_U[part], sum_U[part] = _lengthened(trie, rows_UK[part], number, entropy_U[part], sum_U[part])
        entropy_N[known], sum_N[known] = entropy_U[which], sum_U[which]
    return entropy_N


def _lengthened(
    trie: NgramTrie, rows_UK: Rows, number: int, shorter_U: Doubles, sum_U: Doubles
) -> tuple[Doubles, Doubles]:
    """Return the entropies and the sums with one more level, whose contexts here are all known and distinct."""
    times_U, word_M, weight_M, backoff_U = trie.levels[number].extensions(rows_UK[:, number])
    before_M = np.repeat(backoff_U, times_U) * trie.of_words(word_M, rows_UK, times_U, number)
    owner_M = np.repeat(np.arange(len(rows_UK)), times_U)
    gained_U = np.bincount(owner_M, _f(before_M + weight_M) - _f(before_M), minlength=len(rows_UK))
    added_U = np.bincount(owner_M, weight_M, minlength=len(rows_UK))
    return backoff_U * shorter_U + _f(backoff_U) * sum_U + gained_U, backoff_U * sum_U + added_U


def _parts(trie: NgramTrie, context_U: Rows, number: int) -> Iterator[slice]:
    """Yield the contexts whose extensions are held in memory at a time."""
    begin_U, end_U, _ = trie.levels[number].spans(context_U)
    ends = np.cumsum(end_U - begin_U)
    first = 0
    while first < len(ends):
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + EXTENSIONS_AT_ONCE, side="right")))
        yield slice(first, last)
        first = last


def _f(p: Doubles) -> Doubles:
    """Return -p log p, which is 0 for p = 0: back-off weights of 10^-99 multiply to it."""
    return -p * np.log(np.maximum(p, SMALLEST))
