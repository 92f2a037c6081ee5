"""Cross-entropy: the summed nats of the targets. This is the readable form; `wordtie.kernels` has the fast ones.

Shapes: N tokens, V words.
"""

from __future__ import annotations

import torch.nn.functional as F

from wordtie.losses.loss import Loss, LossSum, Scoring, scores


class CrossEntropy(Loss):
    """-sum log softmax(W q + b)[target]."""

    def forward(self, scoring: Scoring) -> LossSum:
        """Sum over the N tokens, in nats."""
        scores_NV, bias_V = scores(scoring), scoring.bias_V
        logits_NV = scores_NV if bias_V is None else scores_NV + bias_V
        nats = F.cross_entropy(logits_NV, scoring.targets_N, reduction="sum")
        return LossSum(cross_entropy=nats, total=nats, tokens=scoring.targets_N.numel())
