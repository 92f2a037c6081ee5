"""Train word2vec: the text in pieces, each with its own random numbers and learning rate, threads taking the next one.

What is drawn depends on the seed, the epoch and the piece alone, so one thread gives the same bits every time, and
with more of them only the order of the updates differs. The loss is the exact sum of the negative-sampling losses,
in float64, over the number of predictions (pairs of skip-gram, words of CBOW).

Shapes: N words of the text, V words of the vocabulary, D distinct words of a block, P columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordtie.errors import DivergedError
from wordtie.kernels import word2vec as kernel
from wordtie.kernels import word2vec_linear as linear_kernel
from wordtie.models.word2vec import Word2Vec
from wordtie.text.batches import Ids
from wordtie.training.precision import resolve_precision

PIECE = 100_000
"""Words of the text a thread takes at a time; a sentence that crosses two pieces is cut there."""
BLOCK = 16_000
"""Words between two products with the map of `tied_linear`."""
MAP_EVERY = 4
"""The map itself learns from one block in this many: its gradient changes little from one to the next."""

Loss = tuple[float, int]
"""Nats, and over how many predictions."""
Report = Callable[[int, int, float, int], None]
"""Called after each piece with the epoch, the words of it that are done, and the epoch's nats and predictions."""


def fit(model: Word2Vec, ids_N: Ids, eos_id: int, report: Report | None = None) -> list[Loss]:
    """Train on a text, which may be memory-mapped: -> the loss of each epoch.

    Raises `DivergedError` where the vectors stop being numbers.
    """
    settings = model.settings
    pieces = [(epoch, first) for epoch in range(settings.epochs) for first in range(0, len(ids_N), PIECE)]
    losses = [(0.0, 0)] * settings.epochs

    def run(piece: tuple[int, int]) -> Loss:
        return train_piece(model, ids_N, eos_id, *piece)

    with one_torch_thread(), ThreadPoolExecutor(settings.workers) as threads:
        results = threads.map(run, pieces)
        for (epoch, first), (nats, predictions) in zip(pieces, results, strict=True):
            if not math.isfinite(nats):
                threads.shutdown(cancel_futures=True)
                raise DivergedError(
                    f"the loss is not a number in epoch {epoch + 1}: lower word2vec.alpha ({settings.alpha:g})"
                )
            losses[epoch] = losses[epoch][0] + nats, losses[epoch][1] + predictions
            if report:
                report(epoch + 1, min(first + PIECE, len(ids_N)), *losses[epoch])
    return losses


def train_piece(model: Word2Vec, ids_N: Ids, eos_id: int, epoch: int, first: int) -> Loss:
    """Train on the words from `first` on, as part of the epoch (from 0)."""
    settings = model.settings
    tokens = np.ascontiguousarray(ids_N[first : first + PIECE], np.int32)
    total = settings.epochs * len(ids_N)
    before = (epoch * len(ids_N) + first) / total
    after = before + len(tokens) / total
    fall = settings.alpha - settings.min_alpha
    alphas = settings.alpha - fall * before, settings.alpha - fall * after
    state = np.random.SeedSequence([settings.seed, epoch, first]).generate_state(1, np.uint64) | np.uint64(1)
    if model.linear_PP is not None:
        return _linear_piece(model, tokens, eos_id, alphas, state)
    arguments = (
        *(tokens, eos_id, model.keep_V, model.threshold_V, model.alias_V, model.input_VP, model.output_VP),
        *(settings.window, settings.negative, *alphas, state),
    )
    if settings.algorithm == "skipgram":
        nats, predictions = kernel.skipgram(*arguments)
    else:
        nats, predictions = kernel.cbow(*arguments, settings.mean)
    return float(nats), int(predictions)


def _linear_piece(
    model: Word2Vec, tokens: NDArray[np.int32], eos_id: int, alphas: tuple[float, float], state: NDArray[np.uint64]
) -> Loss:
    """`wordtie.kernels.word2vec_linear`, block by block."""
    assert model.linear_PP is not None
    settings = model.settings
    linear = torch.from_numpy(model.linear_PP)
    dtype = resolve_precision(settings.precision, torch.device("cpu"))
    buffers = _Buffers(*model.input_VP.shape)
    nats, predictions, position, blocks = 0.0, 0, 0, 0
    while position < len(tokens):
        alpha = np.float32(alphas[0] + (alphas[1] - alphas[0]) * position / len(tokens))
        length, sentences, found, position = linear_kernel.gather(
            tokens, position, eos_id, model.keep_V, state, model.input_VP, *buffers.filled()
        )
        if length == 0:
            continue
        distinct, rows_DP = buffers.distinct[:found], buffers.rows_BP[:found].to(dtype)
        map_PP = linear.to(dtype)
        scale = float(linear.square().sum()) / settings.vector_size
        start_DP = _product(rows_DP, map_PP)
        end_DP = start_DP.clone()
        arguments = (
            *(buffers.block[:length], buffers.ends[:sentences], distinct, end_DP.numpy(), model.input_VP),
            *(model.threshold_V, model.alias_V, settings.window, settings.negative, alpha, np.float32(scale), state),
        )
        if settings.algorithm == "skipgram":
            block_nats, block_predictions = linear_kernel.skipgram_block(*arguments)
        else:
            block_nats, block_predictions = linear_kernel.cbow_block(*arguments, settings.mean)
        moved_DP = ((end_DP - start_DP) / scale).to(dtype)
        linear_kernel.scatter(model.input_VP, distinct, _product(moved_DP, map_PP.T).numpy())
        if blocks % MAP_EVERY == 0:
            linear += _product(rows_DP.T, moved_DP) * (settings.linear_rate / max(block_predictions, 1))
        blocks += 1
        nats += float(block_nats)
        predictions += int(block_predictions)
    return nats, predictions


def _product(left: Tensor, right: Tensor) -> Tensor:
    """In fp32, whatever the factors are in."""
    return (left @ right).float()


class _Buffers:
    """What `gather` fills, for one thread."""

    def __init__(self, words: int, columns: int) -> None:
        self.place = np.full(words, -1, np.int32)
        self.distinct = np.empty(BLOCK, np.int32)
        self.rows_BP = torch.empty(BLOCK, columns)
        self.block = np.empty(BLOCK, np.int32)
        self.ends = np.empty(BLOCK, np.int64)

    def filled(self) -> tuple[Any, ...]:
        """In the order that `gather` takes them."""
        return self.place, self.distinct, self.rows_BP.numpy(), self.block, self.ends


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """The threads here are word2vec's own: a matrix product must not start more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
