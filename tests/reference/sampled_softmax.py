"""Sampled softmax from its definition, with lists and `math`: candidates, value, gradient, inclusion probabilities.

Shares no code with the package. A window's candidates are its target words, each with weight one, and the drawn words
that are no targets, each with the weight (times drawn / times expected). Over them

    Z' = sum_c weight_c exp(z_c),     loss = sum over tokens of log Z' - z_target,
    d loss / d z_c = weight_c exp(z_c) / Z' - [c is the target]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tests.reference.losses import Matrix, Vector, add, dot


@dataclass
class SlowSampled:
    """The loss summed over the tokens, and its gradients; rows of no candidate stay zero."""

    total: float
    d_query: Matrix
    d_output: Matrix
    d_bias: Vector


def weights(targets: list[int], drawn: dict[int, float]) -> dict[int, float]:
    """Word to weight, of every candidate. `drawn`: word to (times drawn / times expected)."""
    found = dict.fromkeys(targets, 1.0)
    for word, weight in drawn.items():
        if word not in found:
            found[word] = weight
    return found


def slow_sampled(
    query: Matrix, output: Matrix, bias: Vector, targets: list[int], drawn: dict[int, float]
) -> SlowSampled:
    """Token after token, candidate after candidate."""
    weight = weights(targets, drawn)
    result = SlowSampled(0.0, [], [[0.0] * len(row) for row in output], [0.0] * len(output))
    for q, target in zip(query, targets, strict=True):
        score = {word: dot(output[word], q) + bias[word] for word in weight}
        normaliser = sum(weight[word] * math.exp(score[word]) for word in weight)
        result.total += math.log(normaliser) - score[target]
        d_query = [0.0] * len(q)
        for word in weight:
            d_score = weight[word] * math.exp(score[word]) / normaliser - (word == target)
            result.d_bias[word] += d_score
            add(d_query, output[word], d_score)
            add(result.d_output[word], q, d_score)
        result.d_query.append(d_query)
    return result


def slow_inclusion(counts: list[int], samples: int, power: float) -> Vector:
    """min(1, rate * count ** power), with the rate found by halving an interval until they sum to `samples`."""
    weight = [max(1, count) ** power for count in counts]
    if samples >= len(weight):
        return [1.0] * len(weight)
    low, high = 0.0, 1 / min(weight)
    for _ in range(200):
        rate = (low + high) / 2
        if sum(min(1.0, rate * each) for each in weight) < samples:
            low = rate
        else:
            high = rate
    return [min(1.0, high * each) for each in weight]
