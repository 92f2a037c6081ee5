"""Variational smoothing word by word, as Kong et al. (2019) write it; slow, and sharing nothing with the package.

`Sources` says, for each stream and word, which word each coordinate of its drawn vector comes from (all the same one
where whole vectors are drawn); `Masks` what each coordinate is multiplied by.
"""

from __future__ import annotations

import torch
from torch import Tensor

Sources = dict[tuple[int, int], list[int]]
Masks = dict[tuple[int, int], list[float]]


def drawn_vector(base: Tensor, sources: list[int]) -> Tensor:
    """Equation 6 for one sample: coordinate j of the vector is coordinate j of the word it chose."""
    return torch.stack([base[source, j] for j, source in enumerate(sources)])


def window_loss(
    base: Tensor,
    between: Tensor,
    inputs: list[list[int]],
    targets: list[list[int]],
    read: Sources,
    written: Sources,
    masks: Masks,
    bias: list[float],
) -> Tensor:
    """Summed nats of a window, lists of T rows of B words; `tanh(between @ x)` stands for the recurrent core.

    Only the target's output vector is a sample; the other words k keep o_k (section 4.2, training).
    """
    total = base.new_zeros(())
    for row_in, row_out in zip(inputs, targets, strict=True):
        for stream, (word, target) in enumerate(zip(row_in, row_out, strict=True)):
            vector = drawn_vector(base, read[stream, word]) * base.new_tensor(masks[stream, word])
            query = torch.tanh(between @ vector)
            logits = []
            for k in range(len(base)):
                row = drawn_vector(base, written[stream, target]) if k == target else base[k]
                logits.append((row * query).sum() + bias[k])
            total = total + torch.logsumexp(torch.stack(logits), 0) - logits[target]
    return total


def mean_vector(base: list[list[float]], word: int, gamma: list[float], proposal: list[float]) -> list[float]:
    """The mean of equation 4, its sum over v written out with the word itself apart, as the paper has it."""
    size = len(base[0])
    own = 1 - gamma[word] + gamma[word] * proposal[word]
    return [
        own * base[word][j] + sum(gamma[word] * proposal[v] * base[v][j] for v in range(len(base)) if v != word)
        for j in range(size)
    ]


def exact_coefficient(word: int, gamma: list[float], proposal: list[float]) -> float:
    """Sum over the mixtures of all words i of theta_word^i."""
    total = 0.0
    for i in range(len(gamma)):
        total += gamma[i] * proposal[word] + (1 - gamma[i] if i == word else 0.0)
    return total


def printed_coefficient(word: int, gamma: list[float], proposal: list[float]) -> float:
    """The left side of equation 3, whose right side has the sign slip."""
    return (len(gamma) - 1) * gamma[word] + (1 - gamma[word] + gamma[word] * proposal[word])


def mean_scores(
    weight: list[list[float]],
    bias: list[float],
    base: list[list[float]],
    word: int,
    gamma: float,
    proposal: list[float],
) -> list[float]:
    """`weight @ x + bias` averaged over the vectors x that `word` may be read as: its own, or that of each word v."""
    scores = []
    for row, shift in zip(weight, bias, strict=True):
        products = [sum(w * x for w, x in zip(row, vector, strict=True)) for vector in base]
        average = (1 - gamma) * products[word]
        for v, product in enumerate(products):
            average += gamma * proposal[v] * product
        scores.append(average + shift)
    return scores
