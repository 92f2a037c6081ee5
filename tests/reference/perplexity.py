"""Perplexity as it is defined: one word at a time, the state carried on, in Python's own numbers.

The LSTM is that of Zaremba et al. (2014) with a softmax over words; names are those of the model's file. Shares
nothing with the package.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from torch import Tensor

Vector = list[float]


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _times(matrix: list[Vector], vector: Vector) -> Vector:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def surprisals(parameters: Mapping[str, Tensor], ids: Sequence[int], eos_id: int) -> list[tuple[float, float]]:
    """(-ln p of the word, entropy of the prediction in bits) for each word, the first predicted from `<eos>`."""
    values = {name: tensor.double().tolist() for name, tensor in parameters.items()}
    words = values["embedding.weight"]
    output = values.get("head.weight", words)
    bias = values.get("head.bias", [0.0] * len(words))
    layers = sum(name.endswith("recurrent_weight") for name in values)
    units = len(values["core.layers.0.recurrent_weight"][0])
    hidden, cell = ([[0.0] * units for _ in range(layers)] for _ in range(2))
    scored = []
    for before, word in zip([eos_id, *ids], ids, strict=False):
        below = words[before]
        for n in range(layers):
            names = ("input_weight", "recurrent_weight", "bias")
            w_x, w_h, b = (values[f"core.layers.{n}.{name}"] for name in names)
            gates = [sum(parts) for parts in zip(_times(w_x, below), _times(w_h, hidden[n]), b, strict=True)]
            for u in range(units):
                i, f, g, o = (gates[part * units + u] for part in range(4))
                cell[n][u] = _sigmoid(f) * cell[n][u] + _sigmoid(i) * math.tanh(g)
                hidden[n][u] = _sigmoid(o) * math.tanh(cell[n][u])
            below = hidden[n]
        scores = [score + extra for score, extra in zip(_times(output, below), bias, strict=True)]
        total = math.log(sum(math.exp(score) for score in scores))
        log_p = [score - total for score in scores]
        scored.append((-log_p[word], -sum(math.exp(p) * p / math.log(2) for p in log_p)))
    return scored
