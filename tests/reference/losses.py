"""Cross-entropy and the augmented loss, value and gradient, from their definitions with lists and `math` alone.

Inan, Khosravi & Socher (2017), equations 2.2-2.4 and 3.1-3.7; shares no code with the package. Gradients are worked
out by hand from the definition of KL(y || p), term by term, so that they also check the package's autograd:

    cross-entropy   d/d logit_v    = p_v - [v is the target]
    divergence      d/d score_v    = (p_v - y_v) / tau                 p at temperature tau, no bias
                    d/d log y_w    = 1 + log y_w - log p_w             times dy: y's own softmax, over s / tau
                    d/d s_v        = sum_w y_w ([w = v] - y_v) (1 + log y_w - log p_w) / tau
    entropy alone   the same, of sum_w y_w log y_w: without log p_w

and s_v = L_v . L_target, so both L_v and L_target learn from it. A second, autograd form in float64 (`literal_loss`)
checks the hand-written one and serves the larger shapes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

Vector = list[float]
Matrix = list[Vector]


@dataclass
class Slow:
    """Sums over the tokens and their gradients; tied matrices are the caller's to add up."""

    cross_entropy: float
    total: float
    d_query: Matrix
    d_output: Matrix
    d_bias: Vector
    d_words: Matrix


def dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def log_softmax(scores: Vector) -> Vector:
    top = max(scores)
    normaliser = top + math.log(sum(math.exp(s - top) for s in scores))
    return [s - normaliser for s in scores]


def add(row: Vector, other: Vector, factor: float) -> None:
    for k, value in enumerate(other):
        row[k] += factor * value


def slow_loss(
    query: Matrix, output: Matrix, bias: Vector, targets: list[int], words: Matrix,
    temperature: float = 1.0, gamma: float = 0.0, through_target: bool | str = True,
) -> Slow:  # fmt: skip
    """Token after token; `gamma` 0 is cross-entropy alone."""
    size = len(words[0])
    zeros = [[0.0] * size for _ in words]
    result = Slow(0.0, 0.0, [], [row[:] for row in zeros], [0.0] * len(words), [row[:] for row in zeros])
    for q, target in zip(query, targets, strict=True):
        scores = [dot(row, q) for row in output]
        log_p = log_softmax([s + b for s, b in zip(scores, bias, strict=True)])
        soft = log_softmax([s / temperature for s in scores])
        similar = log_softmax([dot(row, words[target]) / temperature for row in words])
        y = [math.exp(s) for s in similar]
        divergence = sum(y[v] * (similar[v] - soft[v]) for v in range(len(words)))
        alpha = gamma * temperature
        result.cross_entropy -= log_p[target]
        result.total += -log_p[target] + alpha * divergence

        d_query = [0.0] * size
        for v, row in enumerate(output):
            d_logit = math.exp(log_p[v]) - (v == target)
            d_score = d_logit + alpha * (math.exp(soft[v]) - y[v]) / temperature
            result.d_bias[v] += d_logit
            add(d_query, row, d_score)
            add(result.d_output[v], q, d_score)
        result.d_query.append(d_query)

        if through_target:
            slopes = [1 + similar[w] - (0 if through_target == "entropy" else soft[w]) for w in range(len(words))]
            mean = sum(y[w] * slopes[w] for w in range(len(words)))
            for v, row in enumerate(words):
                d_similarity = alpha * y[v] * (slopes[v] - mean) / temperature
                add(result.d_words[v], words[target], d_similarity)
                add(result.d_words[target], row, d_similarity)
    return result


def literal_loss(
    query: Tensor, output: Tensor, bias: Tensor | None, targets: Tensor, words: Tensor,
    temperature: float = 1.0, gamma: float = 0.0, through_target: bool | str = True, form: str = "kl",
    biased: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(total, cross-entropy) by equation, a token at a time, for autograd in whatever dtype comes in.

    `form`: the divergence of the similar words from the prediction, or the `cross_entropy` between them; `biased`: the
    bias is part of that prediction.
    """
    total = cross_entropy = query.new_zeros(())
    for q, target in zip(query, targets, strict=True):
        scores = output @ q
        logits = scores if bias is None else scores + bias
        nats = torch.logsumexp(logits, 0) - logits[target]
        held = (logits if biased else scores) / temperature
        soft = held - torch.logsumexp(held, 0)
        similarity = (words if through_target else words.detach()) @ (words if through_target else words.detach())[
            target
        ]
        similar = similarity / temperature - torch.logsumexp(similarity / temperature, 0)
        cross_entropy = cross_entropy + nats
        predicting = similar.detach() if through_target == "entropy" else similar
        apart = -(predicting.exp() * soft).sum()
        if form == "kl":
            apart = apart + (similar.exp() * similar).sum()
        total = total + nats + gamma * temperature * apart
    return total, cross_entropy
