"""Whether one model predicts a text better than another, or only seems to: the paired bootstrap.

Both models score the same tokens. The text is cut into units, lines or short stretches of running text, and the
difference in nats is summed in each. Resamples draw as many units as there are, with replacement; the difference in
bits per token is computed in each (Efron & Tibshirani 1993; for tests of language models, Koehn 2004). Neighbouring
lines are of one subject and not independent, so that a long text is resampled in blocks of several lines.

Shapes: M models, U units, R resamples, N tokens, K numbers of words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordtie.data.batches import Ids
from wordtie.errors import require
from wordtie.evaluation.hits import hits
from wordtie.evaluation.perplexity import TOKENS_AT_ONCE, Score
from wordtie.models.next_word import Nats, NextWordModel

STRETCH = 20
"""Tokens of a unit of running text, which has no lines."""
MOST_BLOCKS, FEWEST_BLOCKS = 500, 10
"""Number of blocks of neighbouring units in which a text of more units is resampled, and number that an interval takes:
of fewer, the resamples say little about other texts."""
RESAMPLES, LEVEL = 10_000, 0.95
RESAMPLES_AT_ONCE = 500


@dataclass(frozen=True)
class UnitScores:
    """Scores of models on the units of one text."""

    nats_MU: Nats
    tokens_U: NDArray[np.int64]
    hits_MK: Nats
    """Number of tokens that were among the first k."""

    def score(self, model: int) -> Score:
        """Return the score of a model on the whole text."""
        return Score(float(self.nats_MU[model].sum()), int(self.tokens_U.sum()))

    def shares(self, model: int, among: Sequence[int]) -> dict[int, float] | None:
        """Return, by k, the share of tokens that were among the first k; None for no k."""
        shares_K = self.hits_MK[model] / self.tokens_U.sum()
        return dict(zip(among, shares_K.tolist(), strict=True)) if among else None


@dataclass(frozen=True)
class Difference:
    """The second model's perplexity compared with the first's; intervals hold 95 % of the resamples, and are None if
    there are fewer than `FEWEST_BLOCKS` blocks."""

    bits: float
    """Difference in bits per token; less is better for the second model."""
    bits_interval: tuple[float, float] | None
    ratio: float
    """Ratio of the perplexities, second over first."""
    ratio_interval: tuple[float, float] | None
    blocks: int
    """Number of blocks that were resampled."""


def score_units(
    models: Sequence[NextWordModel[Any]], blocks: Iterable[Ids], eos_id: int | None, among: Sequence[int] = ()
) -> UnitScores:
    """Score a text that comes block by block, as one stream, by all models in turn.

    A unit ends with each `eos_id`; with None it has `STRETCH` tokens. The memory is that of a block, and of a few
    numbers for each unit.
    """
    states = [model.initial_state(1) for model in models]
    nats_MU, tokens_U = np.zeros((len(models), 0)), np.zeros(0, np.int64)
    hits_MK = np.zeros((len(models), len(among)))
    tokens, open_unit = 0, 0
    for ids_N in _pieces(blocks):
        ends_N = (
            (ids_N == eos_id) if eos_id is not None else (np.arange(tokens, tokens + len(ids_N)) + 1) % STRETCH == 0
        )
        unit_N = open_unit + np.cumsum(ends_N) - ends_N
        tokens, open_unit = tokens + len(ids_N), open_unit + int(ends_N.sum())
        size = int(unit_N[-1]) + 1
        if size > len(tokens_U):
            more = max(size, 2 * len(tokens_U)) - len(tokens_U)
            nats_MU, tokens_U = np.pad(nats_MU, ((0, 0), (0, more))), np.pad(tokens_U, (0, more))
        first = int(unit_N[0])
        tokens_U[first:size] += np.bincount(unit_N - first)
        for number, model in enumerate(models):
            log_p_N1, _, after = model.score(ids_N[:, None], states[number])
            nats_MU[number, first:size] -= np.bincount(unit_N - first, log_p_N1[:, 0])
            if among:
                hits_MK[number] += hits(model, ids_N, states[number], among)
            states[number] = after
    there = tokens_U > 0
    return UnitScores(nats_MU[:, there], tokens_U[there], hits_MK)


def paired_bootstrap(first_U: Nats, second_U: Nats, tokens_U: NDArray[np.int64], seed: int = 1) -> Difference:
    """Compare two models by the nats of each unit, and its tokens. Raises `SettingsError` for an empty text."""
    require(len(tokens_U) > 0, "there is nothing to compare: the text has no words")
    nats_B, tokens_B = (_in_blocks(each_U) for each_U in (second_U - first_U, tokens_U))
    nats, bits = float(nats_B.sum() / tokens_B.sum()), 1 / math.log(2)
    if len(nats_B) < FEWEST_BLOCKS:
        return Difference(nats * bits, None, _ratio(nats), None, len(nats_B))
    generator, found = np.random.default_rng(seed), []
    for _ in range(0, RESAMPLES, RESAMPLES_AT_ONCE):
        drawn_RB = generator.integers(len(nats_B), size=(RESAMPLES_AT_ONCE, len(nats_B)))
        found.append(nats_B[drawn_RB].sum(1) / tokens_B[drawn_RB].sum(1))
    low, high = (float(each) for each in np.quantile(np.concatenate(found), ((1 - LEVEL) / 2, (1 + LEVEL) / 2)))
    return Difference(nats * bits, (low * bits, high * bits), _ratio(nats), (_ratio(low), _ratio(high)), len(nats_B))


def _ratio(nats: float) -> float:
    """Return the ratio of two perplexities, from their difference in nats per token; no larger than a perplexity."""
    return Score(nats, 1).perplexity


def _in_blocks(each_U: NDArray[Any]) -> NDArray[Any]:
    """Return sums over blocks of neighbouring units, `MOST_BLOCKS` at most."""
    blocks = min(MOST_BLOCKS, len(each_U))
    return np.add.reduceat(each_U, np.arange(blocks) * len(each_U) // blocks)


def _pieces(blocks: Iterable[Ids]) -> Iterable[Ids]:
    for block in blocks:
        for first in range(0, len(block), TOKENS_AT_ONCE):
            yield np.asarray(block[first : first + TOKENS_AT_ONCE])
