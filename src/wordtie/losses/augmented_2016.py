"""The augmented loss of Inan & Khosravi (2016), before there was a temperature (equations 7 to 9).

    Loss = CE + alpha * KL(softmax(L u) || y^),        y^ = softmax(W h + b)

It is the loss of `wordtie.losses.augmented` at temperature 1, but for the output bias: there the similar words are
held against W h alone, here against the prediction as it is. So where there is a bias, it becomes one more coordinate
of the output vectors, on which every query has a 1 and every input vector a 0.

Shapes: N tokens, V words, E embedding size.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from wordtie.losses.cross_entropy import LossSum
from wordtie.losses.loss import Loss


@dataclass(frozen=True)
class Augmented2016:
    """The loss of 2017 at temperature 1, readable or fast, with the bias taken into the vectors."""

    at_temperature_one: Loss

    def __call__(
        self,
        query_NE: Tensor,
        output_VE: Tensor,
        bias_V: Tensor | None,
        targets_N: Tensor,
        input_VE: Tensor,
        drawn_NE: Tensor | None = None,
    ) -> LossSum:
        """Sum over the N tokens, in nats."""
        if bias_V is not None:
            query_NE = _with_column(query_NE, query_NE.new_ones(len(query_NE)))
            output_VE = _with_column(output_VE, bias_V)
            input_VE = _with_column(input_VE, input_VE.new_zeros(len(input_VE)))
            drawn_NE = None if drawn_NE is None else _with_column(drawn_NE, bias_V[targets_N])
        return self.at_temperature_one(query_NE, output_VE, None, targets_N, input_VE, drawn_NE)


def _with_column(rows: Tensor, column: Tensor) -> Tensor:
    return torch.cat([rows, column[:, None]], dim=1)
