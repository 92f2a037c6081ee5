"""A mixture that also expects the words of the last few sentences again: a cache (Kuhn & De Mori 1990).

    f_k = 2^(-k / half_life) exp(sharpness q_t . q_(t-k))
    r(w | h) = sum over k of f_k [w_(t-k) = w] / sum over k of f_k
    p(w | h) = (1 - s(h)) m(w | h) + s(h) r(w | h),         s(h) = weight n(h) / (n(h) + DOUBT)

m is the mixture; k counts back from the word before the predicted one. q_t is the network's query, from which it
predicts w_t: a word that came where the network expected much the same counts for more (Grave, Joulin & Usunier 2017).
n is the sum of 2^(-k / half_life). It is small after few words, and so is the share s: a sentence alone is predicted
about as by m. `fit_recent_words` finds weight, half-life and sharpness on validation text.

Shapes: T steps, B streams, N tokens, P parts, R classes of contexts, V words, E query, M words that are remembered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wordtie.data.batches import PADDING, Ids
from wordtie.errors import require
from wordtie.models.mixture import (
    TOKENS_AT_ONCE,
    VALUES_AT_ONCE,
    Classes,
    Mixture,
    States,
    best_mixture,
    expectation_maximisation,
    log_p_of_tokens,
)
from wordtie.models.next_word import Floats, Nats, NextWordModel, Queries

FIRST_HALF_LIFE = 100
HALF_LIVES = (50, 100, 200, 400)
SHARPNESSES = (5.0, 10.0, 20.0)
"""Candidates, to be divided by the mean square of a query's norm. First among these and 0, then among the half-lives,
the one is chosen under which a stretch of the validation text is most likely."""
STRETCH = 5_000
"""Tokens of that stretch."""
REMEMBERED = 5
"""Half-lives after which a word is forgotten: by then, it counts for a thirty-second."""
LONGEST, SHARPEST = 10_000, 1e6
"""Largest half-life and sharpness that a run folder may ask for: remembered words take memory."""
DOUBT = 10.0
"""Words after which half of the weight is in effect."""
PRIOR = 0.05
"""Prior of the weight, which counts as much as a few tokens of the validation text, so a short one decides little."""
SMALLEST_GAIN = 0.001
"""Gain in nats per token of the validation text below which recent words are not used."""
ALMOST_ALL = 1 - 1e-9
MOST_KEPT = 50_000_000
"""Maximum numbers in the stored queries of a text. The network reads a longer text again for each pass over it."""


@runtime_checkable
class HasQueries(NextWordModel[Any], Protocol):
    """A part that predicts from a vector."""

    def queries(self, ids_TB: Ids, state: Any) -> tuple[Queries, Any]:
        """Return (the vector from which each id is predicted, (T, B, E); the state after them)."""

    def score_with_queries(self, ids_TB: Ids, state: Any) -> tuple[Nats, Queries, Any]:
        """Return (log p of each id, like `score`; its query, like `queries`; the state after them)."""


@dataclass(frozen=True)
class Memory:
    """The last words that streams have read, the latest last: M words, or fewer if they have read fewer."""

    ids_BM: NDArray[np.int64]
    query_BME: Queries
    """Vectors from which the words were predicted; E is 0 if they do not matter."""

    def after(self, ids_TB: Ids, query_TBE: Queries, words: int) -> Memory:
        """Return the memory after these words, limited to the last `words` words."""
        ids_BX, query_BXE = self.followed_by(ids_TB, query_TBE)
        return Memory(ids_BX[:, -words:], query_BXE[:, -words:])

    def followed_by(self, ids_TB: Ids, query_TBE: Queries) -> tuple[NDArray[np.int64], Queries]:
        """Return (ids of the remembered words, then of these, (B, X); their queries, (B, X, E))."""
        ids_BT, query_BTE = ids_TB.T.astype(np.int64), query_TBE.swapaxes(0, 1)
        if not self.ids_BM.shape[1]:
            return ids_BT, query_BTE
        return np.concatenate([self.ids_BM, ids_BT], 1), np.concatenate([self.query_BME, query_BTE], 1)

    def select(self, streams: NDArray[np.intp]) -> Memory:
        """Return the memory of these streams."""
        return Memory(self.ids_BM[streams], self.query_BME[streams])


@dataclass(frozen=True)
class RecentWords:
    """Weight and half-life of recent words, and how much more those in similar contexts count (sharpness)."""

    weight: float
    half_life: int
    sharpness: float = 0.0

    def __post_init__(self) -> None:
        require(0 <= self.weight < 1, f"the weight of recent words must be in [0, 1), got {self.weight}")
        within = 1 <= self.half_life <= LONGEST
        require(within, f"the half-life of recent words must be from 1 to {LONGEST}, got {self.half_life}")
        within = 0 <= self.sharpness <= SHARPEST
        require(within, f"the sharpness of recent words must be from 0 to {SHARPEST:g}, got {self.sharpness}")

    @property
    def words(self) -> int:
        """Number of words that are remembered, M."""
        return REMEMBERED * self.half_life

    def start(self, streams: int) -> Memory:
        """Return the memory of streams that have read nothing."""
        return Memory(np.zeros((streams, 0), np.int64), np.zeros((streams, 0, 0), np.float32))

    def shares(self, ids_TB: Ids, query_TBE: Queries, memory: Memory) -> tuple[Nats, Nats, Memory]:
        """Return (s(h) before each id is read, (T, B); s(h) r(id | h), (T, B); the memory after them)."""
        share_TB, of_ids_TB = np.zeros(ids_TB.shape), np.zeros(ids_TB.shape)
        for here in self._pieces(ids_TB):
            ids, query = ids_TB[here], query_TBE[here]
            contexts_TBM, share_TB[here], r_TBM = self._contexts(ids, query, memory)
            of_ids_TB[here] = share_TB[here] * ((contexts_TBM == ids[..., None]) * r_TBM).sum(-1)
            memory = memory.after(ids, query, self.words)
        return share_TB, of_ids_TB, memory

    def add_to(self, p_TBV: Floats, ids_TB: Ids, query_TBE: Queries, memory: Memory) -> Memory:
        """Turn m of every word before each id is read into p, in place. Return the memory after them."""
        for here in self._pieces(ids_TB):
            ids, query, p = ids_TB[here], query_TBE[here], p_TBV[here]
            contexts_TBM, share_TB, r_TBM = self._contexts(ids, query, memory)
            p *= (1 - share_TB)[..., None].astype(p.dtype)
            there = (contexts_TBM != PADDING).nonzero()
            added_K = (share_TB[..., None] * r_TBM)[there].astype(p.dtype)
            np.add.at(p, (*there[:2], contexts_TBM[there]), added_K)
            memory = memory.after(ids, query, self.words)
        return memory

    def add_to_logs(self, log_p_BV: Nats, query_1BE: Queries, memory: Memory) -> None:
        """Turn log m of every word after the memory into log p, in place."""
        any_1B = np.zeros((1, len(log_p_BV)), np.int64)
        contexts_1BM, share_1B, r_1BM = self._contexts(any_1B, query_1BE, memory)
        there = (contexts_1BM[0] != PADDING).nonzero()
        stream_K, word_K = there[0], contexts_1BM[0][there]
        added_BV = np.zeros_like(log_p_BV)
        np.add.at(added_BV, (stream_K, word_K), (share_1B[..., None] * r_1BM)[0][there])
        recent_K = log_with_recent(log_p_BV[stream_K, word_K], share_1B[0, stream_K], added_BV[stream_K, word_K])
        log_p_BV += np.log1p(-share_1B[0])[:, None]
        log_p_BV[stream_K, word_K] = recent_K

    def _pieces(self, ids_TB: Ids) -> Iterator[slice]:
        """Yield the steps whose contexts are held in memory at a time."""
        steps = max(1, VALUES_AT_ONCE // (ids_TB.shape[1] * self.words or 1))
        return (slice(first, first + steps) for first in range(0, len(ids_TB), steps))

    def _contexts(self, ids_TB: Ids, query_TBE: Queries, memory: Memory) -> tuple[NDArray[np.int64], Nats, Nats]:
        """Return (the M words before each id, (T, B, M); s(h), (T, B); what each of them adds to r, (T, B, M)).

        If streams are shorter, M is the number of words before the last id, and `PADDING` comes before the first.
        """
        steps, known = len(ids_TB), memory.ids_BM.shape[1]
        words = max(1, min(self.words, known + steps - 1))
        text_BX, earlier_BXE = memory.followed_by(ids_TB[:-1], query_TBE[:-1])
        before = max(0, words - known)
        text_BX = np.pad(text_BX, ((0, 0), (before, 0)), constant_values=PADDING)[:, before + known - words :]
        windows = np.lib.stride_tricks.sliding_window_view(text_BX, words, 1)[:, :steps]
        contexts_TBM = windows.swapaxes(0, 1)
        factor_TBM = (contexts_TBM != PADDING) * 0.5 ** (np.arange(words, 0, -1) / self.half_life)
        n_TB = factor_TBM.sum(-1)
        if self.sharpness:
            earlier_BXE = np.pad(earlier_BXE, ((0, 0), (before, 0), (0, 0)))[:, before + known - words :]
            alike_BTX = self.sharpness * (query_TBE.swapaxes(0, 1) @ earlier_BXE.swapaxes(1, 2))
            at_B, at_T, at_X = alike_BTX.strides
            diagonal = (steps, len(alike_BTX), words), (at_T + at_X, at_B, at_X)
            alike_TBM = np.lib.stride_tricks.as_strided(alike_BTX, *diagonal, writeable=False).astype(np.float64)
            alike_TBM[contexts_TBM == PADDING] = -np.inf
            highest_TB1 = alike_TBM.max(-1, keepdims=True, initial=np.finfo(np.float32).min)
            factor_TBM = factor_TBM * np.exp(alike_TBM - highest_TB1)
        r_TBM = factor_TBM / np.maximum(factor_TBM.sum(-1, keepdims=True), np.finfo(np.float64).tiny)
        return contexts_TBM, self.weight * n_TB / (n_TB + DOUBT), r_TBM


class AdaptiveMixture(Mixture):
    """A mixture and recent words. The state is a tuple of the parts' states, and the memory of the last words."""

    def __init__(self, parts: Sequence[NextWordModel[Any]], weights_RP: Nats, recent: RecentWords) -> None:
        super().__init__(parts, weights_RP)
        self.recent = recent
        self._queries = _QueriesOf.the_first(parts, recent)

    def initial_state(self, streams: int) -> States:
        """Return the state of streams that have read `<eos>`, which is not remembered."""
        return (*super().initial_state(streams), self.recent.start(streams))

    def score(self, ids_TB: Ids, state: States, entropy: bool = False) -> tuple[Nats, Nats | None, States]:
        """Return (log p of each id, entropies if asked, the state after them); 0 where the id is `PADDING`."""
        if entropy:
            return self._score_with_entropy(ids_TB, state)
        known = self._queries
        read: list[Any] = [
            part.score_with_queries(ids_TB, of_part) if part is known.part else part.score(ids_TB, of_part)
            for part, of_part in zip(self.parts, state[:-1], strict=True)
        ]
        query_TBE = read[known.number][1] if known.part else np.zeros((*ids_TB.shape, 0), np.float32)
        log_m_TB = self._mixed(ids_TB, state, [log_p_TB for log_p_TB, _, _ in read])
        share_TB, of_ids_TB, memory = self.recent.shares(ids_TB, query_TBE, state[-1])
        log_p_TB = np.where(ids_TB == PADDING, 0.0, log_with_recent(log_m_TB, share_TB, of_ids_TB))
        return log_p_TB, None, (*(after for _, _, after in read), memory)

    def distributions(self, ids_TB: Ids, state: States) -> tuple[Floats, States]:
        """Return (p of every word before each id is read, (T, B, V); the state after them)."""
        p_TBV, after = super().distributions(ids_TB, state[:-1])
        return p_TBV, (*after, self.recent.add_to(p_TBV, ids_TB, self._queries(ids_TB, state)[0], state[-1]))

    def next(self, state: States) -> Nats:
        """Return log p of every word, (B, V)."""
        log_p_BV = super().next(state[:-1])
        query_1BE, _ = self._queries(np.zeros((1, len(log_p_BV)), np.int64), state)
        self.recent.add_to_logs(log_p_BV, query_1BE, state[-1])
        return log_p_BV

    def advance(self, ids_TB: Ids, state: States) -> States:
        """Return the state after these words."""
        query_TBE, read = self._queries(ids_TB, state)
        after = [
            read if part is self._queries.part else part.advance(ids_TB, of_part)
            for part, of_part in zip(self.parts, state[:-1], strict=True)
        ]
        return (*after, state[-1].after(ids_TB, query_TBE, self.recent.words))

    def select(self, state: States, streams: Sequence[int] | NDArray[np.intp]) -> States:
        """Return the state of these streams."""
        return (*super().select(state[:-1], streams), state[-1].select(np.asarray(streams, np.intp)))


@dataclass(frozen=True)
class _QueriesOf:
    """Queries of a part of a mixture; of size 0 without one."""

    part: HasQueries | None = None
    number: int = 0

    @classmethod
    def the_first(cls, parts: Sequence[NextWordModel[Any]], recent: RecentWords) -> _QueriesOf:
        """Return the queries of the first part that has any, if they matter."""
        if not recent.sharpness:
            return cls()
        return next((cls(part, n) for n, part in enumerate(parts) if isinstance(part, HasQueries)), cls())

    def __call__(self, ids_TB: Ids, state: States) -> tuple[Queries, Any]:
        """Return (the queries before each id is read, (T, B, E); the part's state after them)."""
        if self.part is None:
            return np.zeros((*ids_TB.shape, 0), np.float32), None
        return self.part.queries(ids_TB, state[self.number])


def mixture_of(parts: Sequence[NextWordModel[Any]], weights_RP: Nats, recent: RecentWords | None) -> Mixture:
    """Return the mixture, with recent words if they are given."""
    return Mixture(parts, weights_RP) if recent is None else AdaptiveMixture(parts, weights_RP, recent)


def recent_words_of(mixture: Mixture) -> RecentWords | None:
    """Return the recent words of a mixture; None if it has none."""
    return mixture.recent if isinstance(mixture, AdaptiveMixture) else None


def without_recent_words(model: NextWordModel[Any]) -> NextWordModel[Any]:
    """Return a mixture without its memory of recent words, which no n-gram model has; any other model unchanged."""
    return Mixture(model.parts, model.weights_RP) if isinstance(model, AdaptiveMixture) else model


class FittedMixture(NamedTuple):
    """A mixture that was fitted to a text."""

    mixture: Mixture
    log_p_N: Nats
    """Log p of each token of the text."""
    log_m_N: Nats
    """The same without recent words."""


def best_adaptive_mixture(
    parts: Sequence[NextWordModel[Any]],
    ids_N: Ids,
    log_p_NP: Nats,
    class_N: Classes,
    query_NE: Queries | None = None,
    recent_words: bool = True,
) -> FittedMixture:
    """Return `best_mixture` for a text, with recent words if many recur in it.

    `query_NE`: `text_queries` of the text, if they are known. `recent_words`: whether to try them.
    """
    weights_RP = best_mixture(parts, log_p_NP, class_N).weights_RP
    log_m_N = log_p_of_tokens(log_p_NP, class_N, weights_RP)
    recent, log_p_N = fit_recent_words(parts, ids_N, log_m_N, query_NE) if recent_words else (None, log_m_N)
    return FittedMixture(mixture_of(parts, weights_RP, recent), log_p_N, log_m_N)


def tokens_to_choose(valid: int) -> int:
    """Return the number of tokens read to choose sharpness and half-life, for `valid` tokens of validation text."""
    return (1 + len(SHARPNESSES) + len(HALF_LIVES)) * min(STRETCH, valid)


def fit_recent_words(
    parts: Sequence[NextWordModel[Any]], ids_N: Ids, log_m_N: Nats, query_NE: Queries | None = None
) -> tuple[RecentWords | None, Nats]:
    """Return (recent words under which a validation text is most likely, or None if few recur; log p of each token).

    `log_m_N`: log p of each token without them. `query_NE`: `text_queries` of the text, if they are known.
    """
    first = max(0, (len(ids_N) - STRETCH) // 2)
    stretch = slice(first, first + STRETCH)
    whole_NE = text_queries(parts, ids_N) if query_NE is None else query_NE
    part_NE = text_queries(parts, ids_N[stretch]) if whole_NE is None else whole_NE[stretch]

    def best(candidates: Sequence[RecentWords]) -> RecentWords:
        found = [_weighted(parts, each, ids_N[stretch], log_m_N[stretch], part_NE) for each in candidates]
        return max(found, key=lambda each: float(each[1].sum()))[0]

    found = RecentWords(0.0, FIRST_HALF_LIFE)
    if part_NE is not None and part_NE.any():
        norm = float((part_NE**2).sum(-1).mean())
        sharp = [each / norm for each in SHARPNESSES if norm and each / norm <= SHARPEST]  # none if all is almost 0
        found = best([found, *(replace(found, sharpness=each) for each in sharp)])
    found = best([replace(found, half_life=half_life) for half_life in HALF_LIVES])
    found, log_p_N = _weighted(parts, found, ids_N, log_m_N, whole_NE)
    gain = float(log_p_N.sum()) - float(log_m_N.sum())
    return (found, log_p_N) if gain > SMALLEST_GAIN * len(ids_N) else (None, log_m_N)


def _weighted(
    parts: Sequence[NextWordModel[Any]], recent: RecentWords, ids_N: Ids, log_m_N: Nats, query_NE: Queries | None
) -> tuple[RecentWords, Nats]:
    """Return (`recent` with the most likely weight; log p of each token with it).

    s r + (1 - s) m, with s = weight f, is weight (f r + (1 - f) m) + (1 - weight) m: a mixture of two models of which
    one has a weight to fit.
    """
    share_N, of_ids_N = text_shares(parts, replace(recent, weight=ALMOST_ALL), ids_N, query_NE)
    log_all_N = log_with_recent(log_m_N, share_N, of_ids_N)
    weights = expectation_maximisation(np.stack([log_m_N, log_all_N], 1), np.array([1 - PRIOR, PRIOR]))
    weight = min(float(weights[1]), ALMOST_ALL)
    return replace(recent, weight=weight), log_with_recent(log_m_N, share_N * weight, of_ids_N * weight)


def log_with_recent(log_m: Nats, share: Nats, of_ids: Nats) -> Nats:
    """Return log p of ids from their log m, s(h) and s(h) r(id | h)."""
    with np.errstate(divide="ignore"):
        return np.logaddexp(log_m + np.log1p(-share), np.log(of_ids))


def with_recent_words(mixture: Mixture, ids_N: Ids, log_m_N: Nats, query_NE: Queries | None = None) -> Nats:
    """Return log p of the tokens of a text, which is one stream, from log m of each."""
    recent = recent_words_of(mixture)
    return log_m_N if recent is None else log_with_recent(log_m_N, *text_shares(mixture.parts, recent, ids_N, query_NE))


def text_queries(parts: Sequence[NextWordModel[Any]], ids_N: Ids) -> Queries | None:
    """Return the vectors from which the tokens of a text, one stream, are predicted, (N, E); None if no part has any,
    or if they are more than `MOST_KEPT` numbers."""
    pieces: list[Queries] = []
    for _, query_T1E in _queries(parts, ids_N):
        if len(ids_N) * query_T1E.shape[-1] > MOST_KEPT:
            return None
        pieces.append(query_T1E[:, 0])
    return np.concatenate(pieces) if pieces else None


def _queries(parts: Sequence[NextWordModel[Any]], ids_N: Ids) -> Iterator[tuple[slice, Queries]]:
    """Yield the queries of a text, piece by piece; nothing if no part has any."""
    part = next((part for part in parts if isinstance(part, HasQueries)), None)
    if part is None:
        return
    state = part.initial_state(1)
    for first in range(0, len(ids_N), TOKENS_AT_ONCE):
        here = slice(first, first + TOKENS_AT_ONCE)
        query_T1E, state = part.queries(np.asarray(ids_N[here], np.int64)[:, None], state)
        yield here, query_T1E


def text_shares(
    parts: Sequence[NextWordModel[Any]], recent: RecentWords, ids_N: Ids, query_NE: Queries | None = None
) -> tuple[Nats, Nats]:
    """Return `RecentWords.shares` of the tokens of a text, which is one stream."""
    pieces = [slice(first, first + TOKENS_AT_ONCE) for first in range(0, len(ids_N), TOKENS_AT_ONCE)]
    if not recent.sharpness or not (query_NE is not None or any(isinstance(part, HasQueries) for part in parts)):
        query_NE = np.zeros((len(ids_N), 0), np.float32)  # they do not matter, or there are none
    known = None if query_NE is None else ((here, query_NE[here, None]) for here in pieces)
    memory = recent.start(1)
    share_N, of_ids_N = np.zeros(len(ids_N)), np.zeros(len(ids_N))
    for here, query_T1E in _queries(parts, ids_N) if known is None else known:
        ids_T1 = np.asarray(ids_N[here], np.int64)[:, None]
        share_T1, of_ids_T1, memory = recent.shares(ids_T1, query_T1E, memory)
        share_N[here], of_ids_N[here] = share_T1[:, 0], of_ids_T1[:, 0]
    return share_N, of_ids_N
