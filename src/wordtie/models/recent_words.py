"""A mixture that also expects the words of the last few sentences again: a unigram cache (Kuhn & De Mori 1990).

    r(w | h) = sum over k of 2^(-k / half_life) [w_(t-k) = w] / n(h),      n(h) = sum over k of 2^(-k / half_life)
    p(w | h) = (1 - s(h)) m(w | h) + s(h) r(w | h),                        s(h) = weight n(h) / (n(h) + DOUBT)

m is the mixture, k counts back from the word before the predicted one. After few words n is small, and so is the share
s: a sentence alone is predicted about as by m. `fit_recent_words` finds weight and half-life on validation text.

Shapes: T steps, B streams, N tokens, P parts, R classes of contexts, V words, M words that are remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordtie.data.batches import PADDING, Ids
from wordtie.errors import require
from wordtie.models.mixture import (
    VALUES_AT_ONCE,
    Classes,
    Mixture,
    States,
    best_mixture,
    expectation_maximisation,
    log_p_of_tokens,
)
from wordtie.models.next_word import Floats, Nats, NextWordModel

Recent: TypeAlias = NDArray[np.int64]
"""The last words of each stream, (B, M), the latest last; `PADDING` before the first."""

HALF_LIVES = (50, 100, 200, 400)
"""Of these, the one is taken under which the validation text is most likely."""
REMEMBERED = 5
"""Half-lives after which a word is forgotten: it counts a thirty-second part by then."""
LONGEST = 10_000
"""What is remembered takes memory."""
DOUBT = 10.0
"""Words after which half of the weight is in force."""
PRIOR = 0.05
"""The weight that counts as much as a few tokens of the validation text, so that a short one decides little."""
SMALLEST_GAIN = 0.001
"""Nats a token of the validation text; for less, the words are not remembered."""


@dataclass(frozen=True)
class RecentWords:
    """How much recent words count, and for how long."""

    weight: float
    half_life: int

    def __post_init__(self) -> None:
        require(0 <= self.weight < 1, f"the weight of recent words must be in [0, 1), got {self.weight}")
        within = 1 <= self.half_life <= LONGEST
        require(within, f"the half-life of recent words must be from 1 to {LONGEST}, got {self.half_life}")

    @property
    def words(self) -> int:
        """M."""
        return REMEMBERED * self.half_life

    def start(self, streams: int) -> Recent:
        """Streams that have read nothing."""
        return np.full((streams, self.words), PADDING, np.int64)

    def after(self, ids_TB: Ids, recent_BM: Recent) -> Recent:
        """The last words after these."""
        return np.concatenate([recent_BM, ids_TB.T], 1)[:, -self.words :].astype(np.int64)

    def shares(self, ids_TB: Ids, recent_BM: Recent) -> tuple[Nats, Nats]:
        """(s(h) before each id is read, (T, B); s(h) r(id | h), (T, B))."""
        share_TB, of_ids_TB = np.zeros(ids_TB.shape), np.zeros(ids_TB.shape)
        steps = max(1, VALUES_AT_ONCE // (ids_TB.shape[1] * self.words or 1))
        for first in range(0, len(ids_TB), steps):
            ids, here = ids_TB[first : first + steps], slice(first, first + steps)
            contexts_TBM = self._contexts(ids, recent_BM)
            n_TB = (contexts_TBM != PADDING) @ self._factor_M
            seen_TB = (contexts_TBM == ids[..., None]) @ self._factor_M
            share_TB[here] = self.weight * n_TB / (n_TB + DOUBT)
            of_ids_TB[here] = self.weight * seen_TB / (n_TB + DOUBT)
            recent_BM = self.after(ids, recent_BM)
        return share_TB, of_ids_TB

    def add_to(self, p_TBV: Floats, ids_TB: Ids, recent_BM: Recent) -> None:
        """Turn m of every word before each id is read into p, in place."""
        contexts_TBM = self._contexts(ids_TB, recent_BM)
        known_TBM = contexts_TBM != PADDING
        n_TB = known_TBM @ self._factor_M
        p_TBV *= (1 - self.weight * n_TB / (n_TB + DOUBT))[..., None].astype(p_TBV.dtype)
        t_K, b_K, m_K = known_TBM.nonzero()
        added_K = self.weight * self._factor_M[m_K] / (n_TB + DOUBT)[t_K, b_K]
        np.add.at(p_TBV, (t_K, b_K, contexts_TBM[known_TBM]), added_K.astype(p_TBV.dtype))

    def _contexts(self, ids_TB: Ids, recent_BM: Recent) -> NDArray[np.int64]:
        """The M words before each id, (T, B, M)."""
        text = np.concatenate([recent_BM, ids_TB.T[:, :-1]], 1)
        return np.lib.stride_tricks.sliding_window_view(text, self.words, 1).swapaxes(0, 1)[: len(ids_TB)]

    @property
    def _factor_M(self) -> Nats:
        return 0.5 ** (np.arange(self.words, 0, -1) / self.half_life)


class AdaptiveMixture(Mixture):
    """A mixture and recent words. The state is a tuple of the parts' states, and the last words."""

    def __init__(self, parts: Sequence[NextWordModel[Any]], weights_RP: Nats, recent: RecentWords) -> None:
        super().__init__(parts, weights_RP)
        self.recent = recent

    def initial_state(self, streams: int) -> States:
        """Streams that have read `<eos>`, which is not remembered."""
        return (*super().initial_state(streams), self.recent.start(streams))

    def score(self, ids_TB: Ids, state: States, entropy: bool = False) -> tuple[Nats, Nats | None, States]:
        """(log p of each id, entropies if asked, the state after them); 0 where the id is `PADDING`."""
        if entropy:
            return self._score_with_entropy(ids_TB, state)
        log_m_TB, _, after = super().score(ids_TB, state[:-1])
        there_TB = ids_TB != PADDING
        log_p_TB = np.where(there_TB, log_with_recent(log_m_TB, *self.recent.shares(ids_TB, state[-1])), 0.0)
        return log_p_TB, None, (*after, self.recent.after(ids_TB, state[-1]))

    def distributions(self, ids_TB: Ids, state: States) -> tuple[Floats, States]:
        """(p of every word before each id is read, (T, B, V); the state after them)."""
        p_TBV, after = super().distributions(ids_TB, state[:-1])
        self.recent.add_to(p_TBV, ids_TB, state[-1])
        return p_TBV, (*after, self.recent.after(ids_TB, state[-1]))

    def next(self, state: States) -> Floats:
        """log p of every word, (B, V)."""
        p_BV = np.exp(super().next(state[:-1]))
        self.recent.add_to(p_BV[None], np.zeros((1, len(p_BV)), np.int64), state[-1])
        return np.log(p_BV, out=p_BV)

    def advance(self, ids_TB: Ids, state: States) -> States:
        """The state after these words."""
        return (*super().advance(ids_TB, state[:-1]), self.recent.after(ids_TB, state[-1]))

    def select(self, state: States, streams: Sequence[int] | NDArray[np.intp]) -> States:
        """The state of these streams."""
        return (*super().select(state[:-1], streams), state[-1][np.asarray(streams, np.intp)])


def mixture_of(parts: Sequence[NextWordModel[Any]], weights_RP: Nats, recent: RecentWords | None) -> Mixture:
    """The mixture, with recent words if there are any."""
    return Mixture(parts, weights_RP) if recent is None else AdaptiveMixture(parts, weights_RP, recent)


def recent_words_of(mixture: Mixture) -> RecentWords | None:
    """Those of a mixture that has them."""
    return mixture.recent if isinstance(mixture, AdaptiveMixture) else None


def best_adaptive_mixture(parts: Sequence[NextWordModel[Any]], ids_N: Ids, log_p_NP: Nats, class_N: Classes) -> Mixture:
    """`best_mixture` for a text, and recent words if many return in it."""
    weights_RP = best_mixture(parts, log_p_NP, class_N).weights_RP
    return mixture_of(parts, weights_RP, fit_recent_words(ids_N, log_p_of_tokens(log_p_NP, class_N, weights_RP)))


def log_with_recent(log_m: Nats, share: Nats, of_ids: Nats) -> Nats:
    """log p of ids from their log m, s(h) and s(h) r(id | h)."""
    with np.errstate(divide="ignore"):
        return np.logaddexp(log_m + np.log1p(-share), np.log(of_ids))


def fit_recent_words(ids_N: Ids, log_m_N: Nats) -> RecentWords | None:
    """The recent words with which a validation text is most likely, from log m of each token; None if few return.

    s r + (1 - s) m, with s = weight f, is weight (f r + (1 - f) m) + (1 - weight) m: a mixture of two models of which
    one has a weight to fit.
    """
    best, most = None, float(log_m_N.sum()) + SMALLEST_GAIN * len(ids_N)
    almost_all = 1 - 1e-9
    for half_life in HALF_LIVES:
        whole = RecentWords(almost_all, half_life)
        log_all_N = log_with_recent(log_m_N, *_of_text(whole, ids_N))
        weight = float(expectation_maximisation(np.stack([log_m_N, log_all_N], 1), np.array([1 - PRIOR, PRIOR]))[1])
        recent = RecentWords(min(weight, almost_all), half_life)
        total = float(with_recent_words(recent, ids_N, log_m_N).sum())
        if total > most:
            best, most = recent, total
    return best


def with_recent_words(recent: RecentWords | None, ids_N: Ids, log_m_N: Nats) -> Nats:
    """log p of the tokens of a text, which is one stream, from their log m."""
    return log_m_N if recent is None else log_with_recent(log_m_N, *_of_text(recent, ids_N))


def _of_text(recent: RecentWords, ids_N: Ids) -> tuple[Nats, Nats]:
    share_N1, of_ids_N1 = recent.shares(np.asarray(ids_N, np.int64)[:, None], recent.start(1))
    return share_N1[:, 0], of_ids_N1[:, 0]
