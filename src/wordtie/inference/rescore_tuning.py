"""Fit the weights for rescoring to a development set, for the fewest word errors or the best BLEU.

The total of a hypothesis is linear in the weights. Along a line of weights, the best hypothesis of each list changes
only where two hypotheses have the same total: the measure is constant between these places, and all of them are tried
(minimum error rate training, Och 2003). One weight is varied after the other, from several starts, until no weight
gains anything.

Shapes: L lists, H hypotheses of one list, K statistics whose sums give the measure, 4 features: score, log p, words,
unknown words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from wordtie.data.tokenisation import looks_like
from wordtie.errors import require
from wordtie.evaluation.bleu import BleuSums, tokenizer_of
from wordtie.evaluation.word_errors import word_errors
from wordtie.inference.rescore import Reading, ScoredList, Weights
from wordtie.models.next_word import Nats

Metric: TypeAlias = Literal["wer", "bleu"]

STARTS = (Weights(0.5), Weights(0.0), Weights(1.0, 1.0))
BOUNDS = ((0.0, 50.0), (-50.0, 50.0), (-50.0, 50.0))
"""Lower and upper bounds of the weights of log p, words and unknown words."""
SWEEPS = 20
SMALLEST_GAIN = 1e-9
SMALLEST_STEP = 1e-6
"""Intervals of a weight that are narrower are not tried: rounding would decide within them."""


@dataclass(frozen=True)
class Tuned:
    """The weights, and what they gain on the lists that they were fitted on."""

    weights: Weights
    metric: Metric
    before: float
    """Word error rate in percent, or BLEU, of the best hypotheses by the scores in the lists."""
    after: float
    lists: int
    signature: str | None = None
    """Signature of sacrebleu, which says how BLEU was computed."""


@dataclass(frozen=True)
class Development:
    """Lists with the features and statistics of each hypothesis."""

    features: Sequence[Nats]
    """Features of the hypotheses of each list, (H, 4)."""
    statistics: Sequence[Nats]
    """Statistics of the hypotheses of each list, (H, K)."""
    measure: Callable[[Nats], float]
    """Function from sums of statistics, (K,), to the measure; larger is better."""

    def at(self, weights: Weights) -> float:
        """Compute the measure of the hypotheses that are best under these weights."""
        row = _row(weights)
        chosen = [
            stats_HK[int((features_H4 @ row).argmax())]
            for features_H4, stats_HK in zip(self.features, self.statistics, strict=True)
        ]
        return self.measure(np.sum(chosen, 0))


def tune(lists: Sequence[ScoredList], references: Sequence[str], metric: Metric, reading: Reading) -> Tuned:
    """Fit the weights to lists with a reference each; lists without hypotheses are left out.

    Raises `SettingsError` if nothing is left, `WordtieError` if BLEU is asked for and sacrebleu is missing.
    """
    pairs = [(each, text) for each, text in zip(lists, references, strict=True) if each.nbest.hypotheses]
    require(bool(pairs), "there are no lists to fit weights on")
    development = word_error_statistics(pairs, reading) if metric == "wer" else bleu_statistics(pairs, reading)
    best = max((_climb(development, start) for start in STARTS), key=development.at)
    before, after = development.at(Weights(0.0)), development.at(best)
    if after <= before:
        best, after = Weights(0.0), before
    sign = -1.0 if metric == "wer" else 1.0
    signature = sums_of([text for _, text in pairs], reading).signature if metric == "bleu" else None
    return Tuned(best, metric, float(sign * before), float(sign * after), len(pairs), signature)


def word_error_statistics(pairs: Sequence[tuple[ScoredList, str]], reading: Reading) -> Development:
    """Collect the statistics of each hypothesis: word errors, and words of the reference."""
    statistics = []
    for scored, reference in pairs:
        expected, known = reading.words(reference), dict[str, int]()
        for hypothesis in scored.nbest.hypotheses:
            if hypothesis.text not in known:
                known[hypothesis.text] = word_errors(reading.words(hypothesis.text), expected)
        errors = [(known[hypothesis.text], len(expected)) for hypothesis in scored.nbest.hypotheses]
        statistics.append(np.array(errors, np.float64))
    return Development(
        [_features(scored) for scored, _ in pairs], statistics, lambda sums: -100.0 * sums[0] / max(sums[1], 1.0)
    )


def sums_of(references: Sequence[str], reading: Reading) -> BleuSums:
    """Return the BLEU for these references: tokenised text is taken as it is; case is folded if it is for the model."""
    return BleuSums(tokenizer_of("", looks_like("\n".join(references)) == "space"), lowercase=reading.case != "keep")


def bleu_statistics(pairs: Sequence[tuple[ScoredList, str]], reading: Reading) -> Development:
    """Collect the statistics of each hypothesis that sacrebleu counts."""
    sums = sums_of([reference for _, reference in pairs], reading)
    statistics = [
        np.array(
            sums.statistics(
                [each.text for each in scored.nbest.hypotheses], [reference] * len(scored.nbest.hypotheses)
            ),
            np.float64,
        )
        for scored, reference in pairs
    ]
    return Development([_features(scored) for scored, _ in pairs], statistics, lambda found: sums.bleu(found.tolist()))


def _climb(development: Development, start: Weights) -> Weights:
    """Optimise one weight after the other, until none gains."""
    row, value = _row(start), development.at(start)
    for _ in range(SWEEPS):
        before = value
        for place in (1, 2, 3):
            found, gained = _best_along(development, row, place)
            if gained > value + SMALLEST_GAIN:
                row[place], value = found, gained
        if value <= before + SMALLEST_GAIN:
            break
    return Weights(*row[1:].tolist())


def _best_along(development: Development, row: Nats, place: int) -> tuple[float, float]:
    """Return (the value of one weight under which the measure is best, the measure); the other weights are fixed."""
    low, high = BOUNDS[place - 1]
    changes: list[tuple[float, Any]] = []
    rest = row.copy()
    rest[place] = 0.0
    sums: Any = 0.0
    for features_H4, stats_HK in zip(development.features, development.statistics, strict=True):
        first, *later = _upper_envelope(features_H4[:, place], features_H4 @ rest, low, high)
        sums = sums + stats_HK[first[1]]
        last = first[1]
        for at, number in later:
            changes.append((at, stats_HK[number] - stats_HK[last]))
            last = number
    changes.sort(key=lambda change: change[0])
    best, value = low, -np.inf
    begin = low
    for at, change in [*changes, (high, 0.0)]:
        if at - begin >= SMALLEST_STEP and (here := development.measure(np.asarray(sums))) > value:
            best, value = (begin + at) / 2, here
        sums, begin = sums + change, at
    return best, value


def _upper_envelope(slope_H: Nats, height_H: Nats, low: float, high: float) -> list[tuple[float, int]]:
    """Return (x where it becomes the highest, number) of the lines height + x slope, for x from low to high.

    Of equal lines, the first is taken.

    >>> _upper_envelope(np.array([0.0, 1.0, 0.5]), np.array([1.0, 0.0, 0.4]), 0.0, 10.0)
    [(0.0, 0), (1.0, 1)]
    """
    now = int(np.lexsort((-slope_H, -(height_H + low * slope_H)))[0])
    found, at = [(low, now)], low
    while True:
        steeper = slope_H > slope_H[now]
        with np.errstate(divide="ignore", invalid="ignore"):
            cross_H = np.where(steeper, (height_H[now] - height_H) / (slope_H - slope_H[now]), np.inf)
        cross_H = np.maximum(cross_H, at)
        nearest = float(cross_H.min(initial=np.inf))
        if nearest >= high:
            return found
        tied = np.flatnonzero(cross_H <= nearest)
        now, at = int(tied[slope_H[tied].argmax()]), nearest
        found.append((at, now))


def _features(scored: ScoredList) -> Nats:
    return np.stack([scored.score_H, scored.log_p_H, scored.words_H, scored.unknown_H], 1)


def _row(weights: Weights) -> Nats:
    return np.array([1.0, weights.lm, weights.word, weights.unknown])
