"""Perplexity: sum nats, count tokens, divide once.

Every token of the text is predicted exactly once, the first from `<eos>`, with the state carried over the
whole text. With more than one stream the text is cut into as many pieces, each of which starts from an
empty state: quicker, a little worse, and meant for choosing between epochs; figures to quote use one.

Shapes: N tokens, T steps, B streams, V words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from wordtie.data.batches import PADDING, Ids, batches
from wordtie.evaluation.fp32 import in_fp32
from wordtie.models.language_model import LanguageModel

SCORES_AT_ONCE = 5_500_000
"""Scores (tokens x vocabulary) of a matrix product, so that memory does not grow with the text."""
FEWEST_ROWS = 64
"""Tokens of a product at least: with fewer, a vocabulary that is large would be read too often."""
SCORES_IN_CACHE = 250_000
"""Of these, how many the softmax passes over at a time: 1 MB."""
TOKENS_AT_ONCE = 1024
"""Tokens of a window; the softmax takes them in smaller pieces."""
Bits: TypeAlias = NDArray[np.float64]
R = TypeVar("R")


@dataclass(frozen=True)
class Score:
    """Summed nats over `tokens` tokens."""

    nats: float
    tokens: int

    @property
    def perplexity(self) -> float:
        """exp(nats / tokens)."""
        return math.exp(min(self.nats / self.tokens, 700.0))


class LogProbabilities:
    """Log p of every word, some tokens at a time, in memory that the next ones overwrite; without gradients.

    One for a whole text: the memory is taken once. Taken anew for each window, a block of this size came to stand
    beside the hole of one before, whenever something small had been put into that.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        rows = max(FEWEST_ROWS, SCORES_AT_ONCE // model.words)
        like = model.embedding.weight
        few = rows if like.is_cuda else min(rows, max(1, SCORES_IN_CACHE // model.words))
        self._scores_NV, self._log_p_NV = (like.new_empty(count, model.words) for count in (rows, few))

    def __call__(self, query_NE: Tensor, targets_N: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """For each query in turn, (rows, V), and its target, (rows,); to be used before the next are asked for."""
        model, (many, few) = self.model, (len(self._scores_NV), len(self._log_p_NV))
        for piece, targets in zip(query_NE.split(many), targets_N.split(many), strict=True):
            scores_NV = self._scores_NV[: len(piece)]
            torch.mm(piece, model.output_matrix.T, out=scores_NV)
            for scores, here in zip(scores_NV.split(few), targets.split(few), strict=True):
                if model.head.bias is not None:
                    scores += model.head.bias
                yield torch.log_softmax(scores, 1, out=self._log_p_NV[: len(scores)]), here


@contextmanager
def evaluating(model: LanguageModel) -> Iterator[torch.device]:
    """Evaluation mode without gradients, and back; gives the model's device."""
    was_training = model.training
    model.eval()
    try:
        device = model.embedding.weight.device
        with torch.no_grad(), in_fp32(device):
            yield device
    finally:
        model.train(was_training)


def queries(
    model: LanguageModel, ids: Ids, eos_id: int, streams: int, device: torch.device
) -> Iterator[tuple[Tensor, Tensor]]:
    """(query_NE, targets_N) window by window, state carried over; targets past a stream's end are `PADDING`."""
    steps = max(1, TOKENS_AT_ONCE // streams)
    state = model.initial_state(streams)
    for inputs_TB, targets_TB in batches(ids, streams, steps, eos_id=eos_id, drop=False):
        query, state = model(torch.from_numpy(inputs_TB).to(device), state)
        yield query, torch.from_numpy(targets_TB).flatten().to(device)


def evaluate(model: LanguageModel, ids: Ids, eos_id: int, streams: int = 1) -> Score:
    """Score a text of word ids, (N,)."""
    total, tokens, log_probabilities = 0.0, 0, LogProbabilities(model)
    with evaluating(model) as device:
        for query, targets in queries(model, ids, eos_id, min(streams, len(ids)), device):
            for nats in _nats(log_probabilities, query, targets):
                total += nats
            tokens += int((targets != PADDING).sum())
    return Score(total, tokens)


def evaluate_blocks(model: LanguageModel, blocks: Iterable[Ids], eos_id: int) -> Score:
    """Score a text that comes block by block, as `evaluate` scores the whole of it, in the memory of one block."""
    total, tokens, reader = 0.0, 0, Reader(model, eos_id)
    for window in _windows(blocks, TOKENS_AT_ONCE):
        for nats in reader.nats(window):
            total += nats
        tokens += len(window)
    return Score(total, tokens)


class Reader:
    """One stream, read piece by piece: the state and the last word are carried from one piece to the next.

    In pieces of any size the same words have the same scores (to float rounding), in the memory of one piece.
    """

    def __init__(self, model: LanguageModel, eos_id: int) -> None:
        self.model = model
        self.eos_id = eos_id
        self._log_probabilities = LogProbabilities(model)
        self.start()

    def start(self) -> None:
        """What comes next is another text: an empty state, and `<eos>` before the first word."""
        self.state = self.model.initial_state(1)
        self.before = self.eos_id

    def __call__(self, ids: Ids) -> Iterator[tuple[Bits, Bits]]:
        """Surprisal of each token and entropy of its prediction, in bits: the next words of the stream, in pieces."""
        return self._read(ids, _bits)

    def nats(self, ids: Ids) -> Iterator[float]:
        """Nats of the next words of the stream, summed over some tokens at a time."""
        return self._read(ids, _nats)

    def apart(self, texts: Sequence[Ids]) -> Iterator[tuple[Bits, Bits]]:
        """Short texts that know nothing of each other, side by side: what each has alone (to float rounding).

        The stream itself stays where it is. No text is empty, and there is one or more.
        """
        nobody = (1 << (len(texts) - 1).bit_length()) - len(texts)  # oneDNN keeps code for every number of streams
        there_TB = np.arange(max(map(len, texts)))[:, None] < [*map(len, texts), *[0] * nobody]
        targets_TB = np.full(there_TB.shape, self.eos_id)
        targets_TB.T[there_TB.T] = np.concatenate(texts)
        inputs_TB = np.concatenate([np.full_like(targets_TB[:1], self.eos_id), targets_TB[:-1]])
        with evaluating(self.model) as device:
            query, _ = self.model(torch.from_numpy(inputs_TB).to(device), self.model.initial_state(there_TB.shape[1]))
            query = query[torch.from_numpy(there_TB).flatten().to(device)]
            measured = _bits(self._log_probabilities, query, torch.from_numpy(targets_TB[there_TB]).to(device))
            of_each_TB = np.empty((2, *there_TB.shape))
            of_each_TB[:, there_TB] = np.concatenate([*measured], 1)
        for number, ids in enumerate(texts):
            bits, entropy = of_each_TB[:, : len(ids), number]
            yield bits, entropy

    def _read(self, ids: Ids, measure: Callable[[LogProbabilities, Tensor, Tensor], Iterator[R]]) -> Iterator[R]:
        for first in range(0, len(ids), TOKENS_AT_ONCE):
            piece = [int(word) for word in ids[first : first + TOKENS_AT_ONCE]]
            with evaluating(self.model) as device:
                inputs_T1 = torch.tensor([self.before, *piece[:-1]], device=device)[:, None]
                query, self.state = self.model(inputs_T1, self.state)
                self.before = piece[-1]
                measured = [*measure(self._log_probabilities, query, torch.tensor(piece, device=device))]
            yield from measured


def _windows(blocks: Iterable[Ids], size: int) -> Iterator[Ids]:
    """The same ids in pieces of `size`, the last one shorter."""
    rest = np.empty(0, np.int32)
    for block in blocks:
        ids = np.concatenate([rest, block])
        whole = len(ids) - len(ids) % size
        for first in range(0, whole, size):
            yield ids[first : first + size]
        rest = ids[whole:]
    if len(rest):
        yield rest


def _nats(log_probabilities: LogProbabilities, query_NE: Tensor, targets_N: Tensor) -> Iterator[float]:
    for log_p, targets in log_probabilities(query_NE, targets_N):
        yield float(F.nll_loss(log_p, targets, ignore_index=PADDING, reduction="sum"))


def _bits(log_probabilities: LogProbabilities, query_NE: Tensor, targets_N: Tensor) -> Iterator[tuple[Bits, Bits]]:
    for log_p, targets in log_probabilities(query_NE, targets_N):
        nats = torch.stack([-log_p.gather(1, targets[:, None])[:, 0], -log_p.exp().mul_(log_p).sum(1)])
        surprisal, entropy = nats.double().cpu().numpy() / math.log(2)
        yield surprisal, entropy
