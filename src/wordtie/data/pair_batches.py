"""Batches of sentence pairs of similar length: the same for the same seed and epoch, so that a run can resume.

Pairs are shuffled, sorted by length within pools of `POOL` batches, cut into batches, and the batches are shuffled. So
a batch has little padding, and no two epochs have the same batches.

Shapes: B sentences, S source positions, T target positions with `<eos>`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Padded = NDArray[np.int64]
POOL = 100
"""Batches whose pairs are sorted together."""


@dataclass(frozen=True)
class PaddedPairs:
    """A batch as arrays; the ends of shorter sentences hold `<eos>`."""

    source_SB: Padded
    source_lengths_B: Padded
    inputs_TB: Padded
    targets_TB: Padded
    target_lengths_B: Padded


def batch_order(
    source: Sequence[Sequence[int]], target: Sequence[Sequence[int]], size: int, seed: int, epoch: int
) -> list[NDArray[np.int64]]:
    """Return the numbers of the pairs in each batch of an epoch."""
    draw = np.random.default_rng([seed, epoch])
    shuffled = draw.permutation(len(source))
    lengths = np.array([(len(t), len(s)) for s, t in zip(source, target, strict=True)]).reshape(-1, 2)
    batches = []
    for first in range(0, len(shuffled), POOL * size):
        pool = shuffled[first : first + POOL * size]
        pool = pool[np.lexsort((lengths[pool, 1], lengths[pool, 0]))]
        batches += [pool[start : start + size] for start in range(0, len(pool), size)]
    return [batches[number] for number in draw.permutation(len(batches))]


def pad(sentences: Sequence[Sequence[int]], eos_id: int) -> tuple[Padded, Padded]:
    """Return (ids (S, B), lengths (B,)), each sentence padded with `eos_id`; an empty one has one `<eos>`."""
    lengths_B = np.array([max(len(each), 1) for each in sentences], np.int64)
    ids_SB = np.full((int(lengths_B.max()), len(sentences)), eos_id, np.int64)
    for b, each in enumerate(sentences):
        ids_SB[: len(each), b] = each
    return ids_SB, lengths_B


def pad_pairs(
    source: Sequence[Sequence[int]], target: Sequence[Sequence[int]], source_eos: int, target_eos: int
) -> PaddedPairs:
    """Return a batch of these pairs: the decoder's inputs begin with `<eos>`, its targets end with it.

    >>> batch = pad_pairs([[5, 6]], [[7]], source_eos=1, target_eos=1)
    >>> batch.source_SB.T.tolist(), batch.inputs_TB.T.tolist(), batch.targets_TB.T.tolist()
    ([[5, 6, 1]], [[1, 7]], [[7, 1]])
    """
    source_SB, source_lengths_B = pad([[*each, source_eos] for each in source], source_eos)
    targets_TB, target_lengths_B = pad([[*each, target_eos] for each in target], target_eos)
    inputs_TB = np.concatenate([np.full((1, len(target)), target_eos), targets_TB[:-1]])
    return PaddedPairs(source_SB, source_lengths_B, inputs_TB, targets_TB, target_lengths_B)


def by_length(sentences: Sequence[Sequence[int]], size: int, positions: int | None = None) -> Iterator[list[int]]:
    """Yield the numbers of the sentences in batches of similar length, longest first, so that memory peaks at once.

    A batch has at most `size` sentences and `positions` positions, padding included, unless one sentence has more.

    >>> list(by_length([[1], [1, 2], [1, 2, 3]], 2)), list(by_length([[1], [1, 2], [1, 2, 3]], 2, positions=4))
    ([[2, 1], [0]], [[2], [1, 0]])
    """
    order = sorted(range(len(sentences)), key=lambda number: (-len(sentences[number]), number))
    first = 0
    while first < len(order):
        longest = max(len(sentences[order[first]]), 1)
        count = size if positions is None else max(1, min(size, positions // longest))
        yield order[first : first + count]
        first += count
