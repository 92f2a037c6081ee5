"""The augmented loss of Inan & Khosravi (2016), before there was a temperature (equations 7 to 9).

    Loss = CE + alpha * KL(softmax(L u) || y^),        y^ = softmax(W h + b)

It is the loss of `wordtie.losses.augmented` at temperature 1, but for the output bias: there the similar words are
held against W h alone, here against the prediction as it is. So where there is a bias, it becomes one more coordinate
of the output vectors, on which every query has a 1 and every input vector a 0.

Shapes: N tokens, V words, E embedding size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from wordtie.losses.loss import Loss, LossSum, Scoring


@dataclass(frozen=True)
class Augmented2016(Loss):
    """The loss of 2017 at temperature 1, readable or fast, with the bias taken into the vectors."""

    at_temperature_one: Loss

    def of(self, scoring: Scoring) -> LossSum:
        """Sum over the N tokens, in nats."""
        bias_V, drawn_NE = scoring.bias_V, scoring.drawn_NE
        if bias_V is not None:
            scoring = replace(
                scoring,
                query_NE=_with_column(scoring.query_NE, scoring.query_NE.new_ones(len(scoring.query_NE))),
                output_VE=_with_column(scoring.output_VE, bias_V),
                bias_V=None,
                input_VE=_with_column(scoring.input_VE, scoring.input_VE.new_zeros(len(scoring.input_VE))),
                drawn_NE=None if drawn_NE is None else _with_column(drawn_NE, bias_V[scoring.targets_N]),
            )
        return self.at_temperature_one.of(scoring)


def _with_column(rows: Tensor, column: Tensor) -> Tensor:
    return torch.cat([rows, column[:, None]], dim=1)
