"""From settings to a loss: the readable form, or its fast twin.

Shapes: N tokens, V words, E embedding size.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from wordtie.config import LossSettings
from wordtie.kernels.softmax_loss import Pull, softmax_loss
from wordtie.losses.augmented import AugmentedLoss
from wordtie.losses.augmented_2016 import Augmented2016
from wordtie.losses.cross_entropy import CrossEntropy, LossSum
from wordtie.losses.cross_entropy_form import CrossEntropyForm
from wordtie.losses.interpolated import Interpolated
from wordtie.losses.loss import Loss as Loss


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
    if settings.kind == "cross_entropy":
        return FusedLoss(None, precision) if fused else CrossEntropy()
    if settings.kind == "interpolated":
        return Interpolated(settings.temperature, settings.beta, settings.gradient_through_target)
    temperature = 1.0 if settings.kind == "augmented_2016" else settings.temperature
    pull = Pull(temperature, settings.gamma, settings.gradient_through_target)
    loss: Loss = FusedLoss(pull, precision) if fused else AugmentedLoss(*_values(pull))
    if settings.kind == "augmented_2016":
        loss = Augmented2016(loss)
    if settings.form == "cross_entropy":
        loss = CrossEntropyForm(loss, pull.gamma * temperature, temperature, settings.gradient_through_target)
    return loss


def _values(pull: Pull) -> tuple[float, float, bool]:
    return pull.temperature, pull.gamma, pull.through_target
