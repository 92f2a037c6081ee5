"""Train tied+L on a piece of text, block by block: `wordtie.kernels.word2vec.linear` says what a block is.

The threads share a block: each takes some of its sentences at a time. A block is cut into the same parts, with
the same random numbers, however many threads there are.

Shapes: N words of the piece, V words of the vocabulary, D distinct words of a block, S sentences, P columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordtie.kernels.word2vec import linear as kernel
from wordtie.kernels.word2vec.draws import generator
from wordtie.training.precision import resolve_precision
from wordtie.word2vec.model import Word2Vec

BLOCK = 16_000
"""Words between two products with the map."""
PART = 1_000
"""Words of a block that a thread takes at a time; it takes the rest of their last sentence, too."""
ROWS = 512
"""Rows of a product with the map that a thread takes at a time."""
MAP_EVERY = 4
"""Blocks from one update of the map to the next, from the first block of a piece on: its gradient changes little from
one block to the next."""


def train_linear(
    model: Word2Vec,
    tokens_N: NDArray[np.int32],
    eos_id: int,
    alphas: tuple[float, float],
    place: tuple[int, ...],
    threads: Executor,
) -> tuple[float, int]:
    """Train on a piece, with random numbers seeded by `place`; return (nats, predictions)."""
    assert model.linear_PP is not None
    settings, linear_PP = model.settings, torch.from_numpy(model.linear_PP)
    dtype = resolve_precision(settings.precision, torch.device("cpu"))
    buffers, state = _Buffers(*model.input_VP.shape), generator(*place)
    nats, predictions, position, blocks = 0.0, 0, 0, 0
    while position < len(tokens_N):
        alpha = np.float32(alphas[0] + (alphas[1] - alphas[0]) * position / len(tokens_N))
        begun = position
        length, sentences, found, position = kernel.gather(
            tokens_N, begun, eos_id, model.keep_V, state, model.input_VP, *buffers.filled()
        )
        if length == 0:
            continue
        rows_DP, map_PP = buffers.rows_BP[:found].to(dtype), linear_PP.to(dtype)
        scale = float(linear_PP.square().sum()) / settings.vector_size
        start_DP = _product(rows_DP, map_PP, threads)
        end_DP = start_DP.clone()
        arguments = end_DP.numpy(), model.input_VP, model.draws, alpha, np.float32(scale)
        learnt = list(_train_parts(model, buffers, sentences, arguments, (*place, begun), threads))
        block_predictions = sum(count for _, count in learnt)
        moved_DP = ((end_DP - start_DP) / scale).to(dtype)
        kernel.scatter(model.input_VP, buffers.distinct[:found], _product(moved_DP, map_PP.T, threads).numpy())
        if blocks % MAP_EVERY == 0:
            linear_PP += (rows_DP.T @ moved_DP).float() * (settings.linear_rate / max(block_predictions, 1))
        blocks += 1
        nats += sum(part for part, _ in learnt)
        predictions += block_predictions
    return float(nats), int(predictions)


def _train_parts(
    model: Word2Vec,
    buffers: _Buffers,
    sentences: int,
    arguments: tuple[Any, ...],
    place: tuple[int, ...],
    threads: Executor,
) -> Iterator[tuple[float, int]]:
    """Train on the parts of a block; return the (nats, predictions) of each."""
    one, mean = model.settings.algorithm == "skipgram", model.settings.mean

    def run(part: tuple[int, NDArray[np.int64]]) -> tuple[float, int]:
        start, ends_S = part
        state = generator(*place, start + 1)
        found: tuple[float, int] = kernel.train_part(
            buffers.block, buffers.words, start, ends_S, *arguments, state, one, mean
        )
        return found

    return threads.map(run, parts(buffers.ends[:sentences]))


def parts(ends_S: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Cut a block where a sentence ends: where each part starts, and the ends of its sentences."""
    start, first = 0, 0
    while first < len(ends_S):
        last = int(np.searchsorted(ends_S, min(start + PART, ends_S[-1]))) + 1
        yield start, ends_S[first:last]
        start, first = int(ends_S[last - 1]), last


def _product(left_DP: Tensor, right_PP: Tensor, threads: Executor) -> Tensor:
    """Return the product as fp32, whatever the factors' dtype. It is computed by word2vec's threads, as torch's own
    would spin between two products."""
    product_DP = torch.empty(left_DP.shape)

    def run(first: int) -> None:
        product_DP[first : first + ROWS] = left_DP[first : first + ROWS] @ right_PP

    list(threads.map(run, range(0, len(left_DP), ROWS)))
    return product_DP


class _Buffers:
    """Buffers that `gather` fills."""

    def __init__(self, words: int, columns: int) -> None:
        self.place = np.full(words, -1, np.int32)
        self.distinct = np.empty(BLOCK, np.int32)
        self.rows_BP = torch.empty(BLOCK, columns)
        self.words = np.empty(BLOCK, np.int32)
        self.block = np.empty(BLOCK, np.int32)
        self.ends = np.empty(BLOCK, np.int64)

    def filled(self) -> tuple[Any, ...]:
        """Return the buffers in the order in which `gather` takes them."""
        return self.place, self.distinct, self.rows_BP.numpy(), self.words, self.block, self.ends
