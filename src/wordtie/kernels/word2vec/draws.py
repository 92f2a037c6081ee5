"""The random choices of word2vec: which words are kept, how wide a window is, which words are the negatives.

One generator per piece of text (xorshift64*, Vigna 2016), so that the draws depend on the seed and the place in the
text and never on the number of threads. Negatives come from Walker's alias table: one 64-bit number each, whose upper
half chooses a column and whose lower half one of the two words that share it.

Shapes: V words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wordtie.kernels import alias_table as vose

ALWAYS = 1 << 32
"""Keep threshold that every draw is below."""

_SHIFT_A, _SHIFT_B, _SHIFT_C = np.uint64(12), np.uint64(25), np.uint64(27)
_MULTIPLIER = np.uint64(2685821657736338717)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


def alias_table(weight_V: NDArray[np.float64]) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """Return Walker's table of a distribution: (threshold_V, alias_V).

    Column v is drawn uniformly and gives v below its threshold (of 2^32), its alias from there on.
    """
    own_V, alias_V = vose.alias_table(weight_V * (len(weight_V) / weight_V.sum()))
    return np.minimum(own_V * ALWAYS, ALWAYS - 1).astype(np.uint32), alias_V.astype(np.int32)


def generator(*place: int) -> NDArray[np.uint64]:
    """Return the state of a separate generator for each place, such as (seed, epoch, first word)."""
    return np.random.SeedSequence(place).generate_state(1, np.uint64) | np.uint64(1)


@njit(inline="always")
def next_random(state: Any) -> Any:
    """Return the next 64 bits; `state` is one uint64 that is not zero."""
    x = state[0]
    x ^= x >> _SHIFT_A
    x ^= x << _SHIFT_B
    x ^= x >> _SHIFT_C
    state[0] = x
    return x * _MULTIPLIER


@njit(inline="always")
def below(state: Any, limit: Any) -> Any:
    """Draw a number from 0 to `limit` - 1."""
    return np.int64(((next_random(state) >> _HALF) * np.uint64(limit)) >> _HALF)


@njit(inline="always")
def negative(state: Any, threshold: Any, alias: Any) -> Any:
    """Draw a word from the alias table."""
    bits = next_random(state)
    column = np.int64(((bits >> _HALF) * np.uint64(threshold.shape[0])) >> _HALF)
    return column if (bits & _LOW) < np.uint64(threshold[column]) else np.int64(alias[column])


@njit(inline="always")
def next_sentence(tokens: Any, first: Any, eos: Any, keep: Any, state: Any, sentence: Any) -> Any:
    """Fill `sentence` with the words kept from `first` to the next `eos`: -> (words kept, where to continue).

    `keep` is a threshold of 2^32 for each word: 0 for what is not a word (`<unk>`, `<eos>`), ALWAYS for rare words.
    A sentence longer than the buffer is cut, as gensim cuts at 10,000 words.
    """
    kept = 0
    position = first
    while position < tokens.shape[0] and kept < sentence.shape[0]:
        word = tokens[position]
        position += 1
        if word == eos:
            break
        threshold = keep[word]
        if threshold == ALWAYS or (threshold > 0 and np.int64(next_random(state) >> _HALF) < threshold):
            sentence[kept] = word
            kept += 1
    return kept, position
