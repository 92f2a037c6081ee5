"""What surprisal adds to a regression of reading times (Smith & Levy 2013; Goodkind & Bicknell 2018).

Two linear regressions, fitted by least squares,

    baseline:  time ~ word length + log frequency, of the word and of the S words before it (spillover)
    full:      baseline + surprisal, of the word and of the S words before it

predict the words of items that neither was fitted on: the items are divided into folds, and each fold is predicted
from the others. With e the error and s^2 the residual variance in the fitted folds (sum of squares / (words -
predictors)), a word's log-likelihood is -(log(2 pi s^2) + e^2 / s^2) / 2, in nats. The gain of surprisal is the mean
difference per word, and delta R^2 the difference in 1 - sum e^2 / sum (time - mean of the fitted folds)^2.

The tests are paired over items: sentences, not words, are independent of each other. Under the null hypothesis the sign
of each item's summed difference is arbitrary (sign-flip permutation test, two-sided).

Least squares are one call of numpy, so nothing more needs to be installed; statsmodels' OLS gives the same numbers.

Shapes: N words, P predictors, I items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordtie.errors import require

Floats = NDArray[np.float64]
PERMUTATIONS = 9999
LEAST_VARIANCE = 1e-12
"""Least variance of the errors, as a share of the variance of the times: less is rounding."""
SMALLEST = 1e-10
"""Least singular value of the scaled predictors, as a share of the largest: less is a combination of others."""
AT_ONCE = 500
"""Permutations in memory at a time."""


@dataclass(frozen=True)
class Prediction:
    """Predictions for words that the regression was not fitted on, (N,) each."""

    log_likelihood_N: Floats
    """Log-likelihood of each word, in nats."""
    error_N: Floats


@dataclass(frozen=True)
class Difference:
    """A mean difference in log-likelihood per word, and its uncertainty."""

    nats: float
    standard_error: float
    """Standard error over items, in nats."""
    p: float
    """Two-sided p-value of a paired permutation test over items."""


@dataclass(frozen=True)
class SurprisalGain:
    """What one surprisal adds to the baseline."""

    name: str
    gain: Difference
    r2: float
    """R^2 of the full regression, on held-out items."""
    delta_r2: float
    log_likelihood_N: Floats
    """Log-likelihood of each word under the full regression, in nats."""


@dataclass(frozen=True)
class ReadingTimes:
    """Times and predictors of the words that are analysed."""

    time_N: Floats
    item_N: NDArray[np.intp]
    """The item of each word, numbered from 0."""
    baseline_NP: Floats
    surprisal: dict[str, Floats]
    """Surprisal of the word and of the S words before it, (N, 1 + S) for each model."""

    @property
    def items(self) -> int:
        """Number of items."""
        return int(self.item_N.max()) + 1 if len(self.item_N) else 0


@dataclass(frozen=True)
class ReadingTimeResult:
    """What each surprisal adds, and what each adds beyond the first."""

    words: int
    items: int
    baseline_r2: float
    baseline: Prediction
    gains: Sequence[SurprisalGain]
    beyond_first: Sequence[Difference]
    """Log-likelihood of each gain but the first, minus that of the first."""


def analyse(data: ReadingTimes, folds: int = 10, seed: int = 1) -> ReadingTimeResult:
    """Compare every surprisal with the baseline, and with the first surprisal, on the same words and folds.

    Raises `SettingsError` for fewer items than folds, fewer than two folds, and times that are all the same.
    """
    require(folds >= 2, f"folds must be at least 2, got {folds}")
    require(data.items >= 2, "all words are of one item: give times of two items or more, or another column as --item")
    require(data.items >= folds, f"{data.items} items cannot be divided into {folds} folds: set --folds lower")
    require(bool(np.ptp(data.time_N) > 0), "all reading times are the same")
    fold_N = assign_folds(data.items, folds, seed)[data.item_N]
    null = predict_held_out(np.zeros((len(data.time_N), 0)), data.time_N, fold_N)
    baseline = predict_held_out(data.baseline_NP, data.time_N, fold_N)
    baseline_r2 = r_squared(baseline, null)
    gains = []
    for name, surprisal_NS in data.surprisal.items():
        full = predict_held_out(np.hstack([data.baseline_NP, surprisal_NS]), data.time_N, fold_N)
        gain = compare(full.log_likelihood_N - baseline.log_likelihood_N, data.item_N, seed)
        r2 = r_squared(full, null)
        gains.append(SurprisalGain(name, gain, r2, r2 - baseline_r2, full.log_likelihood_N))
    beyond = [compare(gain.log_likelihood_N - gains[0].log_likelihood_N, data.item_N, seed) for gain in gains[1:]]
    return ReadingTimeResult(len(data.time_N), data.items, baseline_r2, baseline, gains, beyond)


def assign_folds(items: int, folds: int, seed: int) -> NDArray[np.intp]:
    """Assign items at random to folds of equal size; return the fold of each item, (I,)."""
    return np.random.default_rng(seed).permutation(np.arange(items) % folds)


def predict_held_out(predictors_NP: Floats, time_N: Floats, fold_N: NDArray[np.intp]) -> Prediction:
    """Predict each fold by a regression, with an intercept, that is fitted on the others."""
    centred_NP = predictors_NP - predictors_NP.mean(0)  # no unit makes a column look like a combination
    scale_P = np.abs(centred_NP).max(0, initial=0.0)
    design_NP = np.hstack([np.ones((len(time_N), 1)), centred_NP / np.where(scale_P > 0, scale_P, 1.0)])
    log_likelihood_N, error_N = np.empty(len(time_N)), np.empty(len(time_N))
    for fold in np.unique(fold_N):
        held_N = fold_N == fold
        fitted_NP, seen_N = design_NP[~held_N], time_N[~held_N]
        coefficient_P, _, rank, _ = np.linalg.lstsq(fitted_NP, seen_N, rcond=SMALLEST)
        require(
            len(seen_N) > rank,
            f"{len(seen_N)} words are too few for {rank} predictors: give times of more words, or fewer predictors "
            "(--spillover, --control)",
        )
        variance = float(((seen_N - fitted_NP @ coefficient_P) ** 2).sum()) / (len(seen_N) - int(rank))
        require(
            variance > LEAST_VARIANCE * float(np.var(time_N)),
            "the predictors explain the times of some folds without any error: are the times those of people? Give "
            "fewer predictors, or more items",
        )
        error_N[held_N] = time_N[held_N] - design_NP[held_N] @ coefficient_P
        log_likelihood_N[held_N] = -(np.log(2 * np.pi * variance) + error_N[held_N] ** 2 / variance) / 2
    return Prediction(log_likelihood_N, error_N)


def r_squared(prediction: Prediction, null: Prediction) -> float:
    """Compute R^2: 1 - sum of squared errors / sum of squared errors of predicting the mean."""
    return 1 - float((prediction.error_N**2).sum() / (null.error_N**2).sum())


def compare(difference_N: Floats, item_N: NDArray[np.intp], seed: int = 1) -> Difference:
    """Compute the mean of a difference per word, its standard error and a sign-flip permutation test over items."""
    sum_I, words_I = np.bincount(item_N, difference_N), np.bincount(item_N)
    mean = float(difference_N.mean())
    deviation_I = sum_I - words_I * mean
    items = len(sum_I)
    error = float(np.sqrt((deviation_I**2).sum() * items / max(1, items - 1))) / len(difference_N)
    generator = np.random.default_rng(seed)
    extreme, left = 0, PERMUTATIONS
    while left:
        sign_XI = generator.choice((-1.0, 1.0), (min(AT_ONCE, left), items))
        extreme += int((np.abs(sign_XI @ sum_I) >= abs(sum_I.sum()) * (1 - 1e-12)).sum())
        left -= len(sign_XI)
    return Difference(mean, error, (extreme + 1) / (PERMUTATIONS + 1))
