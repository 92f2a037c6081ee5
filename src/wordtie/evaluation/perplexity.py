"""Perplexity: sum nats, count tokens, divide once.

Every token of the text is predicted exactly once, the first from `<eos>`, with the state carried over the
whole text. With more than one stream the text is cut into as many pieces, each of which starts from an
empty state: quicker, a little worse, and meant for choosing between epochs; figures to quote use one.

Shapes: N tokens, T steps, B streams, V words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from wordtie.models.language_model import LanguageModel
from wordtie.text.batches import PADDING, Ids, batches

SCORES_AT_ONCE = 5_500_000
"""Scores (tokens x vocabulary) of a matrix product, so that memory does not grow with the text."""
SCORES_IN_CACHE = 250_000
"""Of these, how many the softmax passes over at a time: 1 MB."""
TOKENS_AT_ONCE = 1024
"""Tokens of a window; the softmax takes them in smaller pieces."""
Bits: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """Summed nats over `tokens` tokens."""

    nats: float
    tokens: int

    @property
    def perplexity(self) -> float:
        """exp(nats / tokens)."""
        return math.exp(min(self.nats / self.tokens, 700.0))


def log_probabilities(model: LanguageModel, query_NE: Tensor) -> Iterator[Tensor]:
    """Log p of every word, some tokens at a time, in memory that the next ones overwrite; without gradients."""
    rows = min(len(query_NE), max(1, SCORES_AT_ONCE // model.words))
    few = rows if query_NE.is_cuda else min(rows, max(1, SCORES_IN_CACHE // model.words))
    scores_NV, log_p_NV = (query_NE.new_empty(count, model.words) for count in (rows, few))
    for piece in query_NE.split(rows):
        torch.mm(piece, model.output_matrix.T, out=scores_NV[: len(piece)])
        for scores in scores_NV[: len(piece)].split(few):
            if model.head.bias is not None:
                scores += model.head.bias
            yield torch.log_softmax(scores, 1, out=log_p_NV[: len(scores)])


@contextmanager
def evaluating(model: LanguageModel) -> Iterator[torch.device]:
    """Evaluation mode without gradients, and back; gives the model's device."""
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield model.embedding.weight.device
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
    total = 0.0
    with evaluating(model) as device:
        for query, targets in queries(model, ids, eos_id, min(streams, len(ids)), device):
            first = 0
            for log_p in log_probabilities(model, query):
                piece = targets[first : first + len(log_p)]
                total += float(F.nll_loss(log_p, piece, ignore_index=PADDING, reduction="sum"))
                first += len(log_p)
    return Score(total, len(ids))


class Reader:
    """One stream, read piece by piece: the state and the last word are carried from one piece to the next.

    In pieces of any size the same words have the same scores (to float rounding), in the memory of one piece.
    """

    def __init__(self, model: LanguageModel, eos_id: int) -> None:
        self.model = model
        self.state = model.initial_state(1)
        self.before = eos_id

    def __call__(self, ids: Ids) -> Iterator[tuple[Bits, Bits]]:
        """Surprisal of each token and entropy of its prediction, in bits, for the next words of the stream."""
        for first in range(0, len(ids), TOKENS_AT_ONCE):
            piece = [int(word) for word in ids[first : first + TOKENS_AT_ONCE]]
            with evaluating(self.model) as device:
                inputs_T1 = torch.tensor([self.before, *piece[:-1]], device=device)[:, None]
                query, self.state = self.model(inputs_T1, self.state)
                self.before = piece[-1]
                scores = [*_bits(self.model, query, torch.tensor(piece, device=device))]
            yield from scores


def token_scores(model: LanguageModel, ids: Ids, eos_id: int) -> Iterator[tuple[Bits, Bits]]:
    """Surprisal of each token and entropy of its prediction, in bits; one stream, predicted from `<eos>` on.

    Given in pieces, so that a text of any length needs the same memory.
    """
    yield from Reader(model, eos_id)(ids)


def _bits(model: LanguageModel, query_NE: Tensor, targets_N: Tensor) -> Iterator[tuple[Bits, Bits]]:
    first = 0
    for log_p in log_probabilities(model, query_NE):
        piece = targets_N[first : first + len(log_p), None]
        nats = torch.stack([-log_p.gather(1, piece)[:, 0], -log_p.exp().mul_(log_p).sum(1)])
        surprisal, entropy = nats.double().cpu().numpy() / math.log(2)
        yield surprisal, entropy
        first += len(log_p)
