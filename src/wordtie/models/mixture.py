"""A mixture of models over one vocabulary: the weighted sum of their probabilities.

    p(w | h) = sum over parts i of weight_i(h) p_i(w | h)

The weights are those under which a validation text is most likely, found by expectation maximisation (Jelinek &
Mercer 1980). There is one per part, or they depend on how familiar the context h is to a part that can tell (an n-gram
model: how many of the last words it has seen together). Which of the two is chosen on the validation text, by
cross-validation.

Shapes: T steps, B streams, N tokens, P parts, R classes of contexts, V words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wordtie.data.batches import PADDING, Ids
from wordtie.data.vocabulary import Vocabulary
from wordtie.errors import require
from wordtie.models.next_word import Floats, Nats, NextWordModel

Classes: TypeAlias = NDArray[np.intp]
States: TypeAlias = tuple[Any, ...]

FOLDS = 5
"""Parts of the validation text; each is predicted with weights from the others, to choose between weightings."""
MOST_STEPS = 1000
SMALLEST_GAIN = 1e-9
"""Gain in nats per token below which expectation maximisation has converged."""
PRIOR_TOKENS = 20.0
"""Tokens that are added to each class of contexts, with the weights of the whole text."""
TOKENS_AT_ONCE = 1024
TINY = float(np.finfo(np.float64).tiny)
"""Added to p in a logarithm: changes no p, and makes 0 log 0 equal to 0."""
LOWEST = float(np.finfo(np.float64).min)
"""Below each log p but that of 0, from which it can be subtracted."""
VALUES_AT_ONCE = 500_000
"""Numbers of a distribution (tokens x words) in memory at a time."""


@runtime_checkable
class KnowsContexts(Protocol):
    """A part that can tell how familiar a context is to it."""

    @property
    def context_classes(self) -> int:
        """Number of classes, R."""

    def context_class(self, ids_TB: Ids, state: Any) -> Classes:
        """Return the class, 0 to R - 1, of the context before each id is read, (T, B)."""


class Mixture:
    """Parts and weights, as a `NextWordModel`. The state is a tuple of the parts' states."""

    def __init__(self, parts: Sequence[NextWordModel[Any]], weights_RP: Nats) -> None:
        """Mix the parts; with R rows of weights, R > 1, by the first part that knows R classes of contexts.

        Raises `SettingsError` for vocabularies that differ and for weights that are not one or R rows of P shares.
        """
        require(len(parts) >= 1, "a mixture needs at least one part")
        require(all(part.vocabulary == parts[0].vocabulary for part in parts), "the parts have different vocabularies")
        self.parts = tuple(parts)
        self.weights_RP = np.asarray(weights_RP, np.float64)
        require(self.weights_RP.ndim == 2, f"expected rows of weights, got {self.weights_RP.shape}")
        self._judge = Judge.of(parts, len(self.weights_RP)) if len(self.weights_RP) > 1 else Judge()
        expected = (self._judge.classes, len(parts))
        require(self.weights_RP.shape == expected, f"expected weights {expected}, got {self.weights_RP.shape}")
        sums_to_one = np.allclose(self.weights_RP.sum(1), 1.0, atol=1e-6) and self.weights_RP.min() >= 0
        require(bool(sums_to_one), "the weights of a mixture are not negative and sum to one")
        with np.errstate(divide="ignore"):  # a weight of 0 leaves its part out
            self._log_weights_RP = np.log(self.weights_RP)

    @property
    def vocabulary(self) -> Vocabulary:
        """Vocabulary of all parts."""
        return self.parts[0].vocabulary

    def initial_state(self, streams: int) -> States:
        """Return the state of streams that have read `<eos>`."""
        return tuple(part.initial_state(streams) for part in self.parts)

    def score(self, ids_TB: Ids, state: States, entropy: bool = False) -> tuple[Nats, Nats | None, States]:
        """Return (log p of each id, entropies if asked, the state after them); 0 where the id is `PADDING`."""
        if entropy:
            return self._score_with_entropy(ids_TB, state)
        log_p_PTB, _, after = zip(
            *(part.score(ids_TB, of_part) for part, of_part in zip(self.parts, state, strict=True)), strict=True
        )
        return np.where(ids_TB == PADDING, 0.0, self._mixed(ids_TB, state, log_p_PTB)), None, after

    def distributions(self, ids_TB: Ids, state: States) -> tuple[Floats, States]:
        """Return (p of every word before each id is read, (T, B, V); the state after them)."""
        weights_TBP = self._weights(ids_TB, state)
        p_TBV, after = np.zeros((*ids_TB.shape, len(self.vocabulary))), []
        for number, (part, of_part) in enumerate(zip(self.parts, state, strict=True)):
            part_TBV, new = part.distributions(ids_TB, of_part)
            p_TBV += part_TBV * weights_TBP[..., number, None].astype(part_TBV.dtype)
            after.append(new)
        return p_TBV, tuple(after)

    def next(self, state: States) -> Nats:
        """Return log p of every word, (B, V)."""
        log_p_PBV = np.array([part.next(each) for part, each in zip(self.parts, state, strict=True)], np.float64)
        any_1B = np.zeros((1, log_p_PBV.shape[1]), np.int64)
        log_p_PBV += self._log_weights_RP[self._judge(any_1B, state)[0]].T[..., None]
        highest_BV = log_p_PBV.max(0, initial=LOWEST)  # taken out of the sum: p may be below the least float
        log_p_PBV -= highest_BV
        p_BV = np.exp(log_p_PBV, out=log_p_PBV).sum(0)
        log_p_BV: Nats = highest_BV + np.log(p_BV, out=p_BV)
        return log_p_BV

    def advance(self, ids_TB: Ids, state: States) -> States:
        """Return the state after these words."""
        return tuple(part.advance(ids_TB, of_part) for part, of_part in zip(self.parts, state, strict=True))

    def select(self, state: States, streams: Sequence[int] | NDArray[np.intp]) -> States:
        """Return the state of these streams."""
        return tuple(part.select(of_part, streams) for part, of_part in zip(self.parts, state, strict=True))

    def _score_with_entropy(self, ids_TB: Ids, state: States) -> tuple[Nats, Nats, States]:
        log_p_TB, entropy_TB = np.zeros(ids_TB.shape), np.zeros(ids_TB.shape)
        steps = max(1, VALUES_AT_ONCE // (ids_TB.shape[1] * len(self.vocabulary)))
        for first in range(0, len(ids_TB), steps):
            ids, here, before = ids_TB[first : first + steps], slice(first, first + steps), state
            p_TBV, state = self.distributions(ids, before)
            there = ids != PADDING
            p_NV = p_TBV[there]
            p_N = p_NV[np.arange(len(p_NV)), ids[there]]
            log_p_TB[here][there] = np.log(p_N) if p_N.all() else self.score(ids, before)[0][there]
            entropy_TB[here][there] = -np.einsum("nv,nv->n", p_NV, np.log(p_NV + TINY))
        return log_p_TB, entropy_TB, state

    def _mixed(self, ids_TB: Ids, state: States, log_p_PTB: Sequence[Nats]) -> Nats:
        """Return log p of each id from its log p under each part; `PADDING` included."""
        log_weights_TBP = self._log_weights_RP[self._judge(ids_TB, state)]
        log_p_TB: Nats = np.logaddexp.reduce(np.stack(log_p_PTB, -1) + log_weights_TBP, -1)
        return log_p_TB  # not from the sum of p, which may be below the least float

    def _weights(self, ids_TB: Ids, state: States) -> Nats:
        """Return the weights before each id is read, (T, B, P)."""
        return self.weights_RP[self._judge(ids_TB, state)]


@dataclass(frozen=True)
class Judge:
    """Classifies contexts by one of the parts; without one, all contexts are in one class."""

    part: KnowsContexts | None = None
    number: int = 0
    """Index of the part."""

    @classmethod
    def of(cls, parts: Sequence[NextWordModel[Any]], classes: int | None = None) -> Judge:
        """Return a judge by the first part that knows `classes` classes of contexts, or else by that with the most."""
        judges = [cls(part, n) for n, part in enumerate(parts) if isinstance(part, KnowsContexts)]
        exact = [judge for judge in judges if judge.classes == classes]
        return max(exact or judges, key=lambda judge: judge.classes, default=cls())

    @property
    def classes(self) -> int:
        """Number of classes, R."""
        return 1 if self.part is None else self.part.context_classes

    def __call__(self, ids_TB: Ids, state: Sequence[Any]) -> Classes:
        """Return the class of the context before each id is read, (T, B)."""
        if self.part is None:
            return np.zeros(ids_TB.shape, np.intp)
        return self.part.context_class(ids_TB, state[self.number])


def best_mixture(parts: Sequence[NextWordModel[Any]], log_p_NP: Nats, class_N: Classes) -> Mixture:
    """Return the mixture under which a validation text is most likely.

    log_p_NP: log p of each token under each part; class_N: the class of its context (`log_probabilities`). The weights
    depend on the class if this predicts held-out parts of the text better. The text is never less likely than under
    the best part. Raises `SettingsError` for a text without words.
    """
    require(len(log_p_NP) > 0, "the text to fit weights on has no words")
    one_class_N = np.zeros_like(class_N)
    by_class = class_N.max() > 0 and _held_out(log_p_NP, class_N) > _held_out(log_p_NP, one_class_N)
    if by_class:
        weights_RP = fit_weights(log_p_NP, class_N, Judge.of(parts).classes)
        if log_p_of_text(log_p_NP, class_N, weights_RP) >= log_p_NP.sum(0).max():
            return Mixture(parts, weights_RP)
    return Mixture(parts, fit_weights(log_p_NP, one_class_N, 1))


def log_probabilities(parts: Sequence[NextWordModel[Any]], blocks: Iterable[Ids]) -> tuple[Nats, Classes]:
    """Return (log p of each token under each part, (N, P); the class of its context, (N,)) of a text, as one stream."""
    states: list[Any] = [part.initial_state(1) for part in parts]
    judge = Judge.of(parts)
    found, classes = [np.zeros((0, len(parts)))], [np.zeros(0, np.intp)]
    for block in blocks:
        for first in range(0, len(block), TOKENS_AT_ONCE):
            ids_T1 = np.asarray(block[first : first + TOKENS_AT_ONCE], np.int64)[:, None]
            classes.append(judge(ids_T1, states)[:, 0])
            log_p_PT = []
            for number, part in enumerate(parts):
                log_p_T1, _, states[number] = part.score(ids_T1, states[number])
                log_p_PT.append(log_p_T1[:, 0])
            found.append(np.stack(log_p_PT, 1))
    return np.concatenate(found), np.concatenate(classes)


def _held_out(log_p_NP: Nats, class_N: Classes) -> float:
    """Return log p of the text, each fold of it under weights that were fitted on the others."""
    fold_N = np.arange(len(log_p_NP)) * FOLDS // len(log_p_NP)
    total = 0.0
    for fold in range(FOLDS):
        held_N = fold_N == fold
        weights_RP = fit_weights(log_p_NP[~held_N], class_N[~held_N], int(class_N.max()) + 1)
        total += log_p_of_text(log_p_NP[held_N], class_N[held_N], weights_RP)
    return total


def log_p_of_text(log_p_NP: Nats, class_N: Classes, weights_RP: Nats) -> float:
    """Return log p of all tokens under a mixture with these weights."""
    return float(log_p_of_tokens(log_p_NP, class_N, weights_RP).sum())


def log_p_of_tokens(log_p_NP: Nats, class_N: Classes, weights_RP: Nats) -> Nats:
    """Return log p of each token, (N,), under a mixture with these weights; a single row applies to all classes."""
    class_N = class_N if len(weights_RP) > 1 else np.zeros_like(class_N)
    with np.errstate(divide="ignore"):
        return np.logaddexp.reduce(log_p_NP + np.log(weights_RP)[class_N], 1)  # type: ignore[no-any-return]


def fit_weights(log_p_NP: Nats, class_N: Classes, classes: int) -> Nats:
    """Fit the weights of each class, (R, P); with several classes, the weights of all tokens are the prior of each."""
    weight_P = expectation_maximisation(log_p_NP)
    if classes == 1:
        return weight_P[None]
    return np.stack([expectation_maximisation(log_p_NP[class_N == each], weight_P) for each in range(classes)])


def expectation_maximisation(log_p_NP: Nats, prior_P: Nats | None = None) -> Nats:
    """Return the weights (P,) under which the tokens are most likely, given log p of each under each part.

    One step is

        weight_i  <-  mean over tokens of  weight_i p_i / sum over j of weight_j p_j,

    with `PRIOR_TOKENS` more tokens shared out by the prior, if there is one. Without it the tokens are never less
    likely than under the best part alone.

    >>> expectation_maximisation(np.log([[0.5, 0.1], [0.1, 0.5], [0.1, 0.5]])).round(2).tolist()
    [0.25, 0.75]
    """
    parts = log_p_NP.shape[1]
    share_NP = np.exp(log_p_NP - log_p_NP.max(1, keepdims=True, initial=-np.inf))  # a factor a token changes no weight
    uniform = np.full(parts, 1 / parts)
    extra, prior = (0.0, uniform) if prior_P is None else (PRIOR_TOKENS, prior_P)
    weight_P, before = uniform if len(share_NP) else prior, -np.inf  # from the prior, a weight of zero would stay zero
    for _ in range(MOST_STEPS if len(share_NP) else 0):
        joint_NP = share_NP * weight_P
        p_N1 = joint_NP.sum(1, keepdims=True)
        of_prior = extra * prior[prior > 0] @ np.log(weight_P[prior > 0])
        now = float(np.log(p_N1).sum() + of_prior) / len(share_NP)
        weight_P = ((joint_NP / p_N1).sum(0) + extra * prior) / (len(share_NP) + extra)
        if now - before < SMALLEST_GAIN:
            break
        before = now
    alone = np.eye(parts)[[int(log_p_NP.sum(0).argmax())]]  # steps towards a part that is best everywhere never end
    everywhere = np.zeros(len(log_p_NP), np.intp)
    if prior_P is None and log_p_of_text(log_p_NP, everywhere, alone) > log_p_of_text(
        log_p_NP, everywhere, weight_P[None]
    ):
        weight_P = alone[0]
    return weight_P
