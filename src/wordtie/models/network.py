"""A language model with its vocabulary, as a `NextWordModel` (`wordtie.models.next_word`).

Products are in full precision, without dropout, whatever mode the network is in.

Shapes: T steps, B streams, N tokens, V words, E embedding size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordtie.data.batches import PADDING, Ids, side_by_side
from wordtie.data.vocabulary import Vocabulary
from wordtie.kernels.products import product, serves
from wordtie.models.fp32 import in_fp32
from wordtie.models.language_model import LanguageModel
from wordtie.models.next_word import SMALLEST_LOG_P, Floats, Nats, Queries
from wordtie.nn.core import State

SCORES_AT_ONCE = 5_500_000
"""Scores (tokens x vocabulary) of a matrix product, so that memory does not grow with the text."""
SCORES_AT_ONCE_BY_ONEDNN = 1_400_000
"""The same for oneDNN, which allocates its results itself: small ones fit where the last ones were."""
FEWEST_ROWS = 64
"""Minimum tokens of a product: with fewer, a large output matrix would be read too often."""
SCORES_IN_CACHE = 250_000
"""Scores that the softmax passes over at a time: 1 MB."""


@dataclass
class NetworkState:
    """What streams have read: the core's state before their last word, and that word.

    The last word is read when its successor is asked for. What it gives is kept, because `next` is usually followed by
    `advance`.
    """

    core: State
    last_B: Tensor
    after: tuple[Tensor, State] | None = None
    """Query (B, E) and the core's state after the last word, once they are known."""


class Network:
    """A language model and its vocabulary."""

    def __init__(self, network: LanguageModel, vocabulary: Vocabulary) -> None:
        self.network = network
        self.vocabulary = vocabulary
        self._log_probabilities = LogProbabilities(network)
        self._scoring = Lock()
        """Held while the memory of `_log_probabilities` is in use: several threads may score with one model."""

    def __reduce__(self) -> tuple[type[Network], tuple[LanguageModel, Vocabulary]]:
        """Be sent to another process without the lock and the memory for scores."""
        return Network, (self.network, self.vocabulary)

    def initial_state(self, streams: int) -> NetworkState:
        """Return the state of streams whose last word is `<eos>`, and which have read nothing before."""
        core = self.network.initial_state(streams)
        device = self.network.embedding.weight.device
        return NetworkState(core, torch.full((streams,), self.vocabulary.eos_id, dtype=torch.int64, device=device))

    def score(self, ids_TB: Ids, state: NetworkState, entropy: bool = False) -> tuple[Nats, Nats | None, NetworkState]:
        """Return (log p of each id, entropies if asked, the state after them); 0 where the id is `PADDING`."""
        with self._scoring, evaluating(self.network) as device:
            query_NE, state = self._read(ids_TB, state, device)
            return *self._scores(ids_TB, query_NE, entropy), state

    def score_with_queries(self, ids_TB: Ids, state: NetworkState) -> tuple[Nats, Queries, NetworkState]:
        """Return (log p of each id, like `score`; the vector from which it is predicted, (T, B, E); the state after
        them), in one pass over the ids."""
        with self._scoring, evaluating(self.network) as device:
            query_NE, state = self._read(ids_TB, state, device)
            log_p_TB, _ = self._scores(ids_TB, query_NE)
        return log_p_TB, query_NE.cpu().numpy().reshape(*ids_TB.shape, query_NE.shape[1]), state

    def distributions(self, ids_TB: Ids, state: NetworkState) -> tuple[Floats, NetworkState]:
        """Return (p of every word before each id is read, (T, B, V); the state after them)."""
        with evaluating(self.network) as device:
            query_NE, state = self._read(ids_TB, state, device)
            log_p_NV = self.network.logits(query_NE).log_softmax(1)
            if len(log_p_NV) and float(log_p_NV.min()) < SMALLEST_LOG_P:
                log_p_NV = log_p_NV.double()
            p_NV = log_p_NV.exp_().cpu().numpy()
        return p_NV.reshape(*ids_TB.shape, self.network.words), state

    def next(self, state: NetworkState) -> Floats:
        """Return log p of every word, (B, V)."""
        with evaluating(self.network):
            if state.after is None:
                state.after = self.network(state.last_B[None], state.core)
            log_p_BV: Floats = self.network.logits(state.after[0]).log_softmax(1).cpu().numpy()
        return log_p_BV

    def after(self, texts: Sequence[Ids]) -> Floats:
        """Return log p of every word after each text, (texts, V), as `next` does, for short texts read side by side.

        A caller that needs no state need not step through texts that end at different places.
        """
        ids_TB = side_by_side(texts)
        streams, ends = range(len(texts)), [len(text) for text in texts]
        with evaluating(self.network) as device:
            ids_TB = np.pad(ids_TB, [(0, 1), (0, 0)], constant_values=PADDING)  # for the word after the longest
            query_NE, _ = self._read(ids_TB, self.initial_state(ids_TB.shape[1]), device)
            query_BE = query_NE.view(*ids_TB.shape, -1)[ends, streams]
            log_p_BV: Floats = self.network.logits(query_BE).log_softmax(1).cpu().numpy()
        return log_p_BV

    def advance(self, ids_TB: Ids, state: NetworkState) -> NetworkState:
        """Return the state after these words."""
        with evaluating(self.network) as device:
            return self._read(ids_TB, state, device)[1]

    def select(self, state: NetworkState, streams: Sequence[int] | NDArray[np.intp]) -> NetworkState:
        """Return the state of these streams."""
        index = torch.as_tensor(np.asarray(streams, np.int64), device=state.last_B.device)

        def selected(core: State) -> State:
            return [tuple(part[index] for part in layer) for layer in core]

        after = None if state.after is None else (state.after[0][index], selected(state.after[1]))
        return NetworkState(selected(state.core), state.last_B[index], after)

    def queries(self, ids_TB: Ids, state: NetworkState) -> tuple[Queries, NetworkState]:
        """Return (the vector from which each id is predicted, (T, B, E); the state after them)."""
        with evaluating(self.network) as device:
            query_NE, state = self._read(ids_TB, state, device)
        return query_NE.cpu().numpy().reshape(*ids_TB.shape, query_NE.shape[1]), state

    def _scores(self, ids_TB: Ids, query_NE: Tensor, entropy: bool = False) -> tuple[Nats, Nats | None]:
        """Return (log p of each id, entropies if asked), from the queries of all."""
        there_TB = ids_TB != PADDING
        log_p_TB, entropy_TB = np.zeros(ids_TB.shape), np.zeros(ids_TB.shape) if entropy else None
        if not there_TB.all():
            query_NE = query_NE[torch.from_numpy(there_TB).flatten().to(query_NE.device)]
        targets_N = torch.from_numpy(ids_TB[there_TB].astype(np.int64)).to(query_NE.device)
        found = list(self._log_probabilities.of_targets(query_NE, targets_N, entropy))
        if found:
            log_p_N, *entropy_N = torch.cat(found, 1).double().cpu().numpy()
            log_p_TB[there_TB] = log_p_N
            if entropy_TB is not None:
                entropy_TB[there_TB] = entropy_N[0]
        return log_p_TB, entropy_TB

    def _read(self, ids_TB: Ids, state: NetworkState, device: torch.device) -> tuple[Tensor, NetworkState]:
        """Return (queries (N, E) that predict each id, the state after them). The last id is not read yet."""
        if not len(ids_TB):
            return self.network.output_matrix[:0], state
        words_TB = torch.from_numpy(np.where(ids_TB == PADDING, self.vocabulary.eos_id, ids_TB).astype(np.int64))
        words_TB = words_TB.to(device)
        if state.after is None and len(words_TB) == 1:  # kept: a mixture with recent words asks for the query, too
            state.after = self.network(state.last_B[None], state.core)
        if state.after is None:
            query_NE, core = self.network(torch.cat([state.last_B[None], words_TB[:-1]]), state.core)
        else:
            query_NE, core = state.after
            if len(words_TB) > 1:
                rest_NE, core = self.network(words_TB[:-1], core)
                query_NE = torch.cat([query_NE, rest_NE])
        return query_NE, NetworkState(core, words_TB[-1])


class LogProbabilities:
    """Log p of every word, some tokens at a time, in memory that the next ones overwrite; without gradients.

    Use one object for a whole text, so that memory is allocated once. If allocated for each window, such a block may
    not fit into the hole that the last one left, since something small may have been placed there. oneDNN allocates its
    results itself, which costs less than it saves; it makes code for each number of tokens, so few are torch's own.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        like = model.embedding.weight
        at_once = SCORES_AT_ONCE_BY_ONEDNN if serves(like) else SCORES_AT_ONCE
        rows = max(FEWEST_ROWS, at_once // model.words)
        few = rows if like.is_cuda else min(rows, max(1, SCORES_IN_CACHE // model.words))
        self._rows = rows
        self._fewest = max(1, rows // 2) if serves(like) else rows + 1
        """Tokens from which on oneDNN multiplies."""
        self._scores_NV = like.new_empty(self._fewest - 1, model.words)
        self._log_p_NV = like.new_empty(few, model.words)

    def __call__(self, query_NE: Tensor, targets_N: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield log p, (rows, V), and targets, (rows,), of some queries at a time; the next ones overwrite them."""
        for scores, here in self._scores(query_NE, targets_N):
            yield torch.log_softmax(scores, 1, out=self._log_p_NV[: len(scores)]), here
            del scores  # so that this memory can hold the next ones

    def of_targets(self, query_NE: Tensor, targets_N: Tensor, entropy: bool) -> Iterator[Tensor]:
        """Yield log p of the targets alone and, with `entropy`, each prediction's entropy: (1 or 2, rows), in pieces.

        With x = z - max z and Z = sum exp x, log p of a target is x - log Z, and the entropy log Z - sum x exp x / Z:
        one exponential per word, and no log p of the others.
        """
        for scores, here in self._scores(query_NE, targets_N):
            x_NV = scores.sub_(scores.amax(1, keepdim=True))
            exp_NV = torch.exp(x_NV, out=self._log_p_NV[: len(scores)])
            sum_N = exp_NV.sum(1)
            log_sum_N = sum_N.log()
            found = [x_NV.gather(1, here[:, None])[:, 0] - log_sum_N]
            if entropy:
                found.append(log_sum_N - torch.linalg.vecdot(exp_NV, x_NV) / sum_N)
            yield torch.stack(found)
            del scores, x_NV

    def _scores(self, query_NE: Tensor, targets_N: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield z of every word, (rows, V), and the targets, (rows,)."""
        model, many, few = self.model, self._rows, len(self._log_p_NV)
        for piece, targets in zip(query_NE.split(many), targets_N.split(many), strict=True):
            if len(piece) >= self._fewest:
                scores_NV = product(piece, model.output_matrix.T)
            else:
                scores_NV = self._scores_NV[: len(piece)]
                torch.mm(piece, model.output_matrix.T, out=scores_NV)
            for scores, here in zip(scores_NV.split(few), targets.split(few), strict=True):
                if model.head.bias is not None:
                    scores += model.head.bias
                yield scores, here
            del scores, scores_NV


@contextmanager
def evaluating(model: LanguageModel) -> Iterator[torch.device]:
    """Switch to evaluation mode without gradients, and back; yield the model's device."""
    was_training = model.training
    model.eval()
    try:
        device = model.embedding.weight.device
        with torch.no_grad(), in_fp32(device):
            yield device
    finally:
        model.train(was_training)
