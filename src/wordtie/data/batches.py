"""Windows of a text for truncated back-propagation: B contiguous streams, T steps at a time.

The text is cut into B streams of equal length, side by side; a window is the next T words of each, and the state
is carried from window to window. The input to each word is the word before it, across the streams' borders too, and
the first word of the text is predicted from `<eos>`, so that with one stream every word is a target exactly once.

Shapes: N words of the text, B streams, L = N / B words per stream, T steps per window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordtie.errors import DataError

Ids: TypeAlias = NDArray[np.integer[Any]]
Window: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]

PADDING = -1
"""The target where a stream has ended: not a word, to be left out of the loss."""
STRETCHES = 10
"""Stretches of a text of which only a part is measured."""


def side_by_side(texts: Sequence[Ids | Sequence[int]]) -> NDArray[np.int64]:
    """Arrange texts as streams, (T, B), with `PADDING` after their ends and in streams that have no text.

    >>> side_by_side([[7, 8, 9], [5]]).tolist()
    [[7, 5], [8, -1], [9, -1]]
    """
    ids_TB = np.full((max(map(len, texts), default=0), streams_for(len(texts))), PADDING)
    for number, ids in enumerate(texts):
        ids_TB[: len(ids), number] = ids
    return ids_TB


def streams_for(texts: int) -> int:
    """Return the least sufficient number of 1, 2, 3, 4, 6, 8, 12, ...: oneDNN keeps code for every number of streams.

    >>> [streams_for(texts) for texts in (1, 3, 5, 7, 18, 64)]
    [1, 3, 6, 8, 24, 64]
    """
    power = 1 << max(texts - 1, 0).bit_length()
    return power * 3 // 4 if 2 <= texts <= power * 3 // 4 else power


def stream_length(words: int, streams: int, drop: bool = True) -> int:
    """Return L, the words per stream, rounded down if the remainder may be dropped, and up if not.

    Raises `DataError` if the text has no words, or too few for this number of streams.
    """
    length = words // streams if drop else -(-words // streams)
    if length < 1:
        raise DataError(
            f"the text has {words} words, too few for {streams} streams: "
            f"set training.streams to at most {max(words, 1)}"
        )
    return length


def window_count(words: int, streams: int, steps: int) -> int:
    """Return the number of windows of `batches` in training: L / T, the last one short if T does not divide L."""
    return -(-stream_length(words, streams) // steps)


def batches(ids: Ids, streams: int, steps: int, *, eos_id: int, drop: bool = True, start: int = 0) -> Iterator[Window]:
    """Yield windows of (inputs_TB, targets_TB), int64 and contiguous, from window number `start` on.

    With `drop`, as in training, the N - B * L words at the end are left out. Without, as in evaluation, the streams
    at the end are shorter: their targets there are `PADDING` and their inputs `eos_id`. The ids may lie in a
    memory-mapped file; one window is in memory at a time.

    Seven words a to g in two streams of two steps (a to g are the ids 0 to 6, and `<eos>` is 9):

    >>> for inputs_TB, targets_TB in batches(np.arange(7), streams=2, steps=2, eos_id=9):
    ...     print(inputs_TB.tolist(), targets_TB.tolist())
    [[9, 2], [0, 3]] [[0, 3], [1, 4]]
    [[1, 4]] [[2, 5]]

    The streams are a b c and d e f: a is predicted from `<eos>`, d from c, and g is dropped. With `drop=False` they
    are a b c d and e f g:

    >>> for inputs_TB, targets_TB in batches(np.arange(7), streams=2, steps=2, eos_id=9, drop=False):
    ...     print(inputs_TB.tolist(), targets_TB.tolist())
    [[9, 3], [0, 4]] [[0, 4], [1, 5]]
    [[1, 5], [2, 9]] [[2, 6], [3, -1]]

    Raises `DataError` for a text with fewer words than streams, if `drop`, or with none at all.
    """
    words = len(ids)
    length = stream_length(words, streams, drop)
    starts_B = np.arange(streams) * length
    for first in range(start * steps, length, steps):
        position_TB = np.arange(first, min(first + steps, length))[:, None] + starts_B
        there_TB = position_TB < words
        targets_TB = np.where(there_TB, ids[np.minimum(position_TB, words - 1)], PADDING)
        inputs_TB = ids[np.clip(position_TB - 1, 0, words - 1)]
        inputs_TB = np.where(there_TB & (position_TB > 0), inputs_TB, eos_id)
        yield inputs_TB.astype(np.int64, order="C"), targets_TB.astype(np.int64, order="C")


def spread(ids_N: Ids, tokens: int | None, stretches: int = STRETCHES, eos_id: int | None = None) -> Ids:
    """Return `tokens` tokens of a text, in stretches spread evenly over it; all, if there are no more, or for None.

    A text often changes as it proceeds: its beginning alone may be easier than the whole. With `eos_id`, the parts of
    sentences at both ends of a stretch are left out, which a model would be surprised by where stretches meet. A
    stretch without a whole sentence stays as it is.

    >>> spread(np.arange(100), 20)[:6].tolist()
    [0, 1, 10, 11, 20, 21]
    >>> spread(np.array([5, 6, 0, 7, 8, 0, 9, 9, 0, 7, 6, 0]), 8, stretches=2, eos_id=0).tolist()
    [5, 6, 0, 9, 9, 0]
    """
    if tokens is None or len(ids_N) <= tokens:
        return ids_N
    edges = [tokens * number // stretches for number in range(stretches + 1)]
    starts = [len(ids_N) * number // stretches for number in range(stretches)]
    sizes = [end - start for start, end in pairwise(edges)]
    pieces = [ids_N[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    if eos_id is not None:
        whole = [number == 0 or ids_N[start - 1] == eos_id for number, start in enumerate(starts)]
        pieces = [_sentences(piece, eos_id, begins) for piece, begins in zip(pieces, whole, strict=True)]
    return np.concatenate(pieces)


def _sentences(ids_N: Ids, eos_id: int, begins: bool) -> Ids:
    """Return the whole sentences of a piece of text, all of it if there is none. `begins`: it starts with one."""
    ends = np.flatnonzero(ids_N == eos_id) + 1
    first = 0 if begins else ends[0] if len(ends) else 0
    last = ends[-1] if len(ends) else 0
    return ids_N[first:last] if last > first else ids_N
