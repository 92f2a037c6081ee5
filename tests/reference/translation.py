"""Attention, the conditional GRU and a translation's probability, sentence by sentence and word by word.

Written from Bahdanau, Cho & Bengio (2015), Sennrich et al. (2017, section 3) and Press & Wolf (2017, section 4.3), with
the reset gate after the recurrent product. Vectors of one sentence at a time, without batches or padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import torch
from torch import Tensor

Weights = Mapping[str, Tensor]


def gru(x: Tensor, h: Tensor, weights: Weights, name: str) -> Tensor:
    """One update of one sentence."""
    units = len(h)
    of_input = weights[f"{name}.input_weight"] @ x + weights[f"{name}.bias"]
    of_state = weights[f"{name}.recurrent_weight"] @ h
    new = []
    for u in range(units):
        r = 1 / (1 + torch.exp(-(of_input[u] + of_state[u])))
        z = 1 / (1 + torch.exp(-(of_input[units + u] + of_state[units + u])))
        inner = of_state[2 * units + u] + weights[f"{name}.recurrent_bias"][u]
        n = torch.tanh(of_input[2 * units + u] + r * inner)
        new.append((1 - z) * n + z * h[u])
    return torch.stack(new)


def attention(h: Tensor, annotations: Sequence[Tensor], weights: Weights, name: str) -> tuple[Tensor, list[Tensor]]:
    """(context, weight of each position)."""
    scores = []
    for a in annotations:
        inner = weights[f"{name}.key_weight"] @ a + weights[f"{name}.key_bias"] + weights[f"{name}.query_weight"] @ h
        scores.append((weights[f"{name}.score"] * torch.tanh(inner)).sum())
    powers = [torch.exp(score) for score in scores]
    shares = [power / sum(powers) for power in powers]
    context = torch.stack([share * a for share, a in zip(shares, annotations, strict=True)]).sum(0)
    return context, shares


def annotations_of(source: Sequence[int], weights: Weights) -> list[Tensor]:
    """What a bidirectional encoder makes of each position."""
    matrix = weights.get("source_embedding.weight", weights["embedding.weight"])
    forwards, backwards = [], []
    h = torch.zeros(weights["forwards.recurrent_weight"].shape[1], dtype=matrix.dtype)
    for word in source:
        h = gru(matrix[word], h, weights, "forwards")
        forwards.append(h)
    h = torch.zeros_like(h)
    for word in reversed(source):
        h = gru(matrix[word], h, weights, "backwards")
        backwards.append(h)
    return [torch.cat([f, b]) for f, b in zip(forwards, reversed(backwards), strict=True)]


def log_distributions(source: Sequence[int], inputs: Sequence[int], weights: Weights) -> list[Tensor]:
    """log p of every word after each of the inputs."""
    annotations = annotations_of(source, weights)
    mean = torch.stack(annotations).sum(0) / len(annotations)
    h = torch.tanh(weights["initial.weight"] @ mean + weights["initial.bias"])
    found = []
    for word in inputs:
        y = weights["embedding.weight"][word]
        searching = gru(y, h, weights, "decoder.first")
        context, _ = attention(searching, annotations, weights, "decoder.attention")
        h = gru(context, searching, weights, "decoder.second")
        deep = torch.tanh(weights["readout.weight"] @ torch.cat([h, context, y]) + weights["readout.bias"])
        if "head.projection.weight" in weights:
            deep = deep @ weights["head.projection.weight"]
        scores = weights.get("head.weight", weights["embedding.weight"]) @ deep
        if "head.bias" in weights:
            scores = scores + weights["head.bias"]
        powers = torch.exp(scores)
        found.append(torch.log(powers / powers.sum()))
    return found


def nats(source: Sequence[int], target: Sequence[int], eos: int, weights: Weights) -> Tensor:
    """-log p of a target, its `<eos>` included; the source has its own."""
    words = [*target, eos]
    distributions = log_distributions(source, [eos, *target], weights)
    return -torch.stack([log_p[word] for log_p, word in zip(distributions, words, strict=True)]).sum()


def every_translation(source: Sequence[int], eos: int, longest: int, weights: Weights) -> dict[tuple[int, ...], float]:
    """log p of each target of fewer than `longest` words."""
    words = [word for word in range(len(weights["embedding.weight"])) if word != eos]
    targets = [target for length in range(longest) for target in product(words, repeat=length)]
    return {target: -float(nats(source, target, eos, weights)) for target in targets}
