"""Log-probabilities of many texts that begin alike, such as the hypotheses of an n-best list.

A prefix that several texts share is read once. The texts are sorted, so that those which begin alike are neighbours;
then all different prefixes are read side by side, as many words at a time as none of them branches or ends in. After a
word, `NextWordModel.select` hands the state of each prefix to those that continue it. Most prefixes are not shared for
long: the gain of reading many of them side by side comes on top.

    texts       a b c    a b d    a b d e          read       a b | c, d | e
                                                   streams     1     2    1

Shapes: H texts in sorted order, B prefixes, T steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from wordtie.data.batches import PADDING, Ids
from wordtie.models.next_word import Nats, NextWordModel

S = TypeVar("S")

TEXTS_AT_ONCE = 1024
"""Different texts that are read side by side."""
TOKENS_AT_ONCE = 1024
"""Tokens of a window, unless there are more streams."""
STREAMS = 64
"""Numbers of streams are rounded up to a multiple of this or, below it, to a power of two: oneDNN keeps code for every
number that it has seen."""


def log_p_of_texts(
    model: NextWordModel[S],
    texts: Sequence[Ids],
    state: S | None = None,
    uncounted: int | None = None,
    texts_at_once: int = TEXTS_AT_ONCE,
) -> Nats:
    """Return log p of each text, in nats: a sum over its ids, (N,) each; 0 for an empty text.

    `state` is one stream, which all texts continue; None: one that has read nothing. The probability of the id
    `uncounted` is left out of the sums, but texts are read with it. Equal texts have the same log p, to the bit.
    """
    keys = [np.asarray(ids).astype(">u4").tobytes() for ids in texts]  # their order is that of the ids
    different = sorted(set(keys))
    start = model.initial_state(1) if state is None else state
    found: dict[bytes, float] = {}
    for first in range(0, len(different), texts_at_once):
        these = different[first : first + texts_at_once]
        ids_of = [np.frombuffer(key, ">u4").astype(np.int64) for key in these]
        found |= zip(these, _sorted_texts(model, ids_of, start, uncounted).tolist(), strict=True)
    return np.array([found[key] for key in keys], np.float64)


def _sorted_texts(model: NextWordModel[S], texts: Sequence[Ids], state: S, uncounted: int | None) -> Nats:
    """Return log p, (H,), of different texts in sorted order, which continue the one stream of a state."""
    length_H = np.array([len(text) for text in texts], np.intp)
    shared_H = np.array([0, *(_shared(*pair) for pair in pairwise(texts))], np.intp)
    log_p_H, stream_H = np.zeros(len(texts)), np.zeros(len(texts), np.intp)
    # between two of these places no prefix branches or ends
    for begin, end in pairwise(np.unique([0, *shared_H, *length_H]).tolist()):
        alive = np.flatnonzero(length_H > begin)
        opens = shared_H[alive] <= begin
        first_B, prefix_H = alive[opens], np.cumsum(opens) - 1
        ids_TB = np.stack([texts[number][begin:end] for number in first_B], 1)
        log_p_B, state = _read(model, ids_TB, state, stream_H[first_B], uncounted)
        log_p_H[alive] += log_p_B[prefix_H]
        stream_H[alive] = prefix_H
    return log_p_H


def _shared(one: Ids, other: Ids) -> int:
    """Return the number of ids in the common prefix of two different texts."""
    size = min(len(one), len(other))
    differ = one[:size] != other[:size]
    return int(differ.argmax()) if differ.any() else size


def _read(
    model: NextWordModel[S], ids_TB: Ids, state: S, stream_B: NDArray[np.intp], uncounted: int | None
) -> tuple[Nats, S]:
    """Return (the sum of log p, (B,), of words that follow these streams of the state; the state after them)."""
    steps, prefixes = ids_TB.shape
    streams = 1 << (prefixes - 1).bit_length() if prefixes < STREAMS else -(-prefixes // STREAMS) * STREAMS
    padded_TB = np.full((steps, streams), PADDING, np.int64)
    padded_TB[:, :prefixes] = ids_TB
    state = model.select(state, np.pad(stream_B, (0, streams - prefixes)))
    window = max(1, TOKENS_AT_ONCE // streams)
    log_p_B = np.zeros(prefixes)
    for first in range(0, steps, window):
        ids = padded_TB[first : first + window]
        log_p_TB, _, state = model.score(ids, state)
        if uncounted is not None:
            log_p_TB = np.where(ids == uncounted, 0.0, log_p_TB)
        log_p_B += log_p_TB[:, :prefixes].sum(0)
    return log_p_B, state
