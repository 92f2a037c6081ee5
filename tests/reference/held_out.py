"""Held-out log-likelihoods of a linear regression, written out: normal equations solved in exact fractions.

Gelman & Hill (2007), chapter 3: coefficients minimise the sum of squares; the residual variance is that sum over
words less coefficients; a new word has the normal density of its error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def coefficients(rows: Sequence[Sequence[Fraction]], times: Sequence[Fraction]) -> list[Fraction]:
    """Solve X'X b = X'y by elimination."""
    size = len(rows[0])
    matrix = [
        [sum((r[i] * r[j] for r in rows), Fraction()) for j in range(size)]
        + [sum((r[i] * y for r, y in zip(rows, times, strict=True)), Fraction())]
        for i in range(size)
    ]
    for i in range(size):
        pivot = next(j for j in range(i, size) if matrix[j][i] != 0)
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        matrix[i] = [value / matrix[i][i] for value in matrix[i]]
        for j in range(size):
            if j != i:
                matrix[j] = [a - matrix[j][i] * b for a, b in zip(matrix[j], matrix[i], strict=True)]
    return [row[-1] for row in matrix]


def held_out(
    predictors: Sequence[Sequence[int]], times: Sequence[int], folds: Sequence[int]
) -> tuple[list[float], list[float]]:
    """(log-likelihood of each word in nats, its error), each from a regression on the other folds."""
    rows = [[Fraction(1), *map(Fraction, row)] for row in predictors]
    likelihoods, errors = [], []
    for row, time, fold in zip(rows, times, folds, strict=True):
        others = [n for n, other in enumerate(folds) if other != fold]
        b = coefficients([rows[n] for n in others], [Fraction(times[n]) for n in others])
        squares = sum((times[n] - sum(x * c for x, c in zip(rows[n], b, strict=True))) ** 2 for n in others)
        variance = float(squares / (len(others) - len(b)))
        error = float(time - sum(x * c for x, c in zip(row, b, strict=True)))
        likelihoods.append(math.log(math.exp(-(error**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)))
        errors.append(error)
    return likelihoods, errors
