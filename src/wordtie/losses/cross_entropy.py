"""Cross-entropy: the summed nats of the targets, and how many there were.

Every loss returns a `LossSum`, so that whoever reports perplexity sums nats, counts tokens and divides
once, whatever else was trained on. This is the readable form; `wordtie.kernels` has the fast ones.

Shapes: N tokens, V words, E embedding size.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class LossSum:
    """Sums over tokens, in nats."""

    cross_entropy: Tensor
    """What perplexity is made of. Not to be differentiated where a fast twin made it."""
    total: Tensor
    """What is trained on: cross-entropy plus whatever the loss adds to it."""
    tokens: int


class CrossEntropy:
    """-sum log softmax(W q + b)[target]."""

    def __call__(
        self, query_NE: Tensor, output_VE: Tensor, bias_V: Tensor | None, targets_N: Tensor, input_VE: Tensor
    ) -> LossSum:
        """Sum over the N tokens, in nats. `input_VE` takes no part."""
        nats = F.cross_entropy(F.linear(query_NE, output_VE, bias_V), targets_N, reduction="sum")
        return LossSum(cross_entropy=nats, total=nats, tokens=targets_N.numel())
