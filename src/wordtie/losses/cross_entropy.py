"""Cross-entropy: the summed nats of the targets, and how many there were.

Every loss returns a `LossSum`, so that whoever reports perplexity sums nats, counts tokens and divides
once, whatever else was trained on. This is the readable form; `wordtie.kernels` has the fast ones.

Shapes: N tokens, V words, E embedding size.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from wordtie.losses.drawn_targets import with_drawn_targets


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
        self,
        query_NE: Tensor,
        output_VE: Tensor,
        bias_V: Tensor | None,
        targets_N: Tensor,
        input_VE: Tensor,
        drawn_NE: Tensor | None = None,
    ) -> LossSum:
        """Sum over the N tokens, in nats. `input_VE` takes no part; `drawn_NE` stands for the targets' own rows."""
        if drawn_NE is None:
            logits_NV = F.linear(query_NE, output_VE, bias_V)
        else:
            scores_NV = with_drawn_targets(query_NE @ output_VE.T, query_NE, targets_N, drawn_NE)
            logits_NV = scores_NV if bias_V is None else scores_NV + bias_V
        nats = F.cross_entropy(logits_NV, targets_N, reduction="sum")
        return LossSum(cross_entropy=nats, total=nats, tokens=targets_N.numel())
