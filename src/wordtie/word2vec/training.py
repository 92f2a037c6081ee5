"""Train word2vec: the text in pieces, each with its own random numbers and learning rate, threads taking the next one.
With tied+L the threads are inside a piece.

What is drawn depends on the seed, the epoch and the piece alone, so one thread gives the same bits every time, and
with more of them only the order of the updates differs. The loss is the exact sum of the negative-sampling losses,
in float64, over the number of predictions (pairs of skip-gram, words of CBOW).

Shapes: N words of the text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import torch

from wordtie.data.batches import Ids
from wordtie.errors import DivergedError
from wordtie.kernels.word2vec import negative_sampling as kernel
from wordtie.kernels.word2vec.draws import generator
from wordtie.word2vec.model import Word2Vec
from wordtie.word2vec.training_linear import train_linear

PIECE = 100_000
"""Words of the text a thread takes at a time; a sentence that crosses two pieces is cut there."""

Loss = tuple[float, int]
"""Nats, and the number of predictions that they are summed over."""
Report = Callable[[int, int, float, int], None]
"""Called after each piece with the epoch, the words of it that are done, and the epoch's nats and predictions."""


def fit(model: Word2Vec, ids_N: Ids, eos_id: int, report: Report | None = None) -> list[Loss]:
    """Train on a text, which may be memory-mapped; return the loss of each epoch.

    Raises `DivergedError` if the vectors stop being numbers.
    """
    settings = model.settings
    pieces = [(epoch, first) for epoch in range(settings.epochs) for first in range(0, len(ids_N), PIECE)]
    losses = [(0.0, 0)] * settings.epochs
    linear = model.linear_PP is not None
    with one_torch_thread(), ThreadPoolExecutor(settings.workers) as threads:

        def run(piece: tuple[int, int]) -> Loss:
            return train_piece(model, ids_N, eos_id, *piece, threads)

        try:
            results = map(run, pieces) if linear else threads.map(run, pieces)
            for (epoch, first), (nats, predictions) in zip(pieces, results, strict=True):
                if not math.isfinite(nats):
                    raise DivergedError(
                        f"the loss is not a number in epoch {epoch + 1}: lower word2vec.alpha ({settings.rate:g})"
                    )
                losses[epoch] = losses[epoch][0] + nats, losses[epoch][1] + predictions
                if report:
                    report(epoch + 1, min(first + PIECE, len(ids_N)), *losses[epoch])
        except BaseException:
            threads.shutdown(cancel_futures=True)  # else the pieces that wait would all be trained first
            raise
    return losses


def train_piece(model: Word2Vec, ids_N: Ids, eos_id: int, epoch: int, first: int, threads: Executor) -> Loss:
    """Train on the words from `first` on, as part of the epoch (from 0). Only tied+L uses the `threads`."""
    settings = model.settings
    tokens = np.ascontiguousarray(ids_N[first : first + PIECE], np.int32)
    total = settings.epochs * len(ids_N)
    before = (epoch * len(ids_N) + first) / total
    after = before + len(tokens) / total
    fall = settings.rate - settings.min_alpha
    alphas = settings.rate - fall * before, settings.rate - fall * after
    place = (settings.seed, epoch, first)
    if model.linear_PP is not None:
        return train_linear(model, tokens, eos_id, alphas, place, threads)
    nats, predictions = kernel.train(
        *(tokens, eos_id, model.keep_V, model.input_VP, model.output_VP, model.draws, alphas, generator(*place)),
        *(settings.algorithm == "skipgram", settings.mean),
    )
    return float(nats), int(predictions)


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Limit torch to one thread: the threads are word2vec's own, and a matrix product must not start more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
