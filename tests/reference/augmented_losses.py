"""The augmented losses of Inan & Khosravi (2016) and Inan, Khosravi & Socher (2017), token by token, word by word.

Scalars in nested lists, from the papers' equations; autograd through them gives the gradients.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def dot(a: Tensor, b: Tensor) -> Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for i in range(len(a)):
        total = total + a[i] * b[i]
    return total


def distribution(scores: Sequence[Tensor]) -> list[Tensor]:
    powers = [torch.exp(s) for s in scores]
    return [p / sum(powers) for p in powers]


def token_terms(
    query: Tensor, output: Tensor, bias: Tensor | None, target: int, words: Tensor, tau: float, bias_inside: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """(cross-entropy, KL(similar || predicted), CE(similar, predicted)) of one token."""
    logits, scores, similarities = [], [], []
    for v in range(len(output)):
        score = dot(output[v], query)
        logit = score if bias is None else score + bias[v]
        logits.append(logit)
        scores.append((logit if bias_inside else score) / tau)
        similarities.append(dot(words[v], words[target]) / tau)
    predicted, similar = distribution(scores), distribution(similarities)
    divergence = sum(y * torch.log(y / p) for y, p in zip(similar, predicted, strict=True))
    cross = -sum(y * torch.log(p) for y, p in zip(similar, predicted, strict=True))
    assert isinstance(divergence, Tensor)
    assert isinstance(cross, Tensor)
    return -torch.log(distribution(logits)[target]), divergence, cross


def loss_2016(
    query: Tensor, output: Tensor, bias: Tensor | None, targets: Tensor, words: Tensor, alpha: float, form: str
) -> Tensor:
    """Equation 9 of the report, or with cross-entropy in place of the divergence."""
    total = torch.zeros((), dtype=torch.float64)
    for q, target in zip(query, targets.tolist(), strict=True):
        nats, divergence, cross = token_terms(q, output, bias, target, words, 1.0, True)
        total = total + nats + alpha * (divergence if form == "kl" else cross)
    return total


def loss_2017(
    query: Tensor,
    output: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    words: Tensor,
    tau: float,
    gamma: float,
    form: str,
) -> Tensor:
    """Equations 3.1 to 3.7, with alpha = gamma * tau."""
    total = torch.zeros((), dtype=torch.float64)
    for q, target in zip(query, targets.tolist(), strict=True):
        nats, divergence, cross = token_terms(q, output, bias, target, words, tau, False)
        total = total + nats + gamma * tau * (divergence if form == "kl" else cross)
    return total


def loss_6_1(
    query: Tensor, output: Tensor, bias: Tensor | None, targets: Tensor, words: Tensor, tau: float, beta: float
) -> Tensor:
    """beta * J_aug * tau^2 * V + (1 - beta) * J."""
    total = torch.zeros((), dtype=torch.float64)
    for q, target in zip(query, targets.tolist(), strict=True):
        nats, divergence, _ = token_terms(q, output, bias, target, words, tau, False)
        total = total + beta * divergence * tau**2 * len(output) + (1 - beta) * nats
    return total
