"""From settings to a loss: the readable form, or its fast twin.

Shapes: N tokens, V words, E embedding size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from wordtie.config import LossSettings
from wordtie.kernels.softmax_loss import Pull, softmax_loss
from wordtie.losses.augmented import AugmentedLoss
from wordtie.losses.cross_entropy import CrossEntropy, LossSum


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


@dataclass(frozen=True)
class FusedLoss:
    """The fast twin of `CrossEntropy` (no pull) or of `AugmentedLoss`."""

    pull: Pull | None
    precision: torch.dtype

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
        total, nats = softmax_loss(
            query_NE, output_VE, bias_V, targets_N, input_VE, self.pull, self.precision, drawn_NE
        )
        return LossSum(cross_entropy=nats, total=total, tokens=targets_N.numel())


def build_loss(settings: LossSettings, fused: bool, precision: torch.dtype) -> Loss:
    """The loss that the settings ask for."""
    augmented = settings.kind == "augmented"
    if fused:
        pull = Pull(settings.temperature, settings.gamma, settings.gradient_through_target) if augmented else None
        return FusedLoss(pull, precision)
    if augmented:
        return AugmentedLoss(settings.temperature, settings.gamma, settings.gradient_through_target)
    return CrossEntropy()
