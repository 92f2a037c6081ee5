"""What every loss is called with, and gives back.

Shapes: N tokens, V words, E embedding size.
"""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from wordtie.losses.cross_entropy import LossSum


class Loss(Protocol):
    """loss(query_NE, output_VE, bias_V, targets_N, input_VE) -> sums in nats.

    `drawn_NE` are output vectors that replace the targets' own rows, for variational smoothing.
    """

    def __call__(
        self,
        query_NE: Tensor,
        output_VE: Tensor,
        bias_V: Tensor | None,
        targets_N: Tensor,
        input_VE: Tensor,
        drawn_NE: Tensor | None = None,
    ) -> LossSum:
        """Sum over the N tokens."""
