"""Build a loss from settings: the readable form, or its fast twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from wordtie.config import LossSettings
from wordtie.kernels.softmax.loss import Pull, softmax_loss
from wordtie.losses.augmented import AugmentedLoss
from wordtie.losses.interpolated import Interpolated
from wordtie.losses.label_smoothing import LabelSmoothing
from wordtie.losses.loss import CrossEntropy, Loss, LossSum, Scoring
from wordtie.losses.sampled import CandidateSampler, SampledLoss


@dataclass(frozen=True)
class FusedLoss(Loss):
    """The fast twin of `CrossEntropy` (no pull) or of `AugmentedLoss`."""

    pull: Pull | None
    precision: torch.dtype

    def forward(self, scoring: Scoring) -> LossSum:
        """Return the sum over the N tokens, in nats."""
        total, nats = softmax_loss(
            scoring.query_NE, scoring.output_VE, scoring.bias_V, scoring.targets_N, scoring.input_VE, self.pull,
            self.precision, scoring.drawn_NE,
        )  # fmt: skip
        return LossSum(cross_entropy=nats, total=total, tokens=scoring.targets_N.numel())


def build_loss(
    settings: LossSettings,
    fused: bool,
    precision: torch.dtype,
    count_V: Tensor | None = None,
    sparse: bool = False,
) -> Loss:
    """Build the loss that the settings ask for.

    A sampled softmax needs the words' counts in the training text, `count_V`, on the device of the model; with
    `sparse`, its gradients of word matrices are sparse tensors of rows. Raises `ValueError` if the counts are missing.
    """
    full = _full(settings, fused, precision)
    if settings.label_smoothing:
        return LabelSmoothing(full, settings.label_smoothing)
    if settings.softmax == "full":
        return full
    if count_V is None:
        raise ValueError("a sampled softmax needs the words' counts")
    return SampledLoss(full, CandidateSampler(count_V, settings.samples, settings.power), sparse)


def _full(settings: LossSettings, fused: bool, precision: torch.dtype) -> Loss:
    fast = FUSED.get(settings.kind) if fused else None
    return LOSSES[settings.kind](settings) if fast is None else FusedLoss(fast(settings), precision)


def _pull(settings: LossSettings) -> Pull:
    of_2016 = settings.kind == "augmented_2016"
    temperature = 1.0 if of_2016 else settings.temperature
    return Pull(temperature, settings.weight, settings.gradient_through_target, settings.form, of_2016)


def _augmented(settings: LossSettings) -> Loss:
    pull = _pull(settings)
    return AugmentedLoss(pull.temperature, pull.gamma, pull.through_target, pull.form, pull.biased)


LOSSES: dict[str, Callable[[LossSettings], Loss]] = {
    "cross_entropy": lambda settings: CrossEntropy(),
    "augmented": _augmented,
    "augmented_2016": _augmented,
    "interpolated": lambda settings: Interpolated(
        settings.temperature, settings.beta, settings.gradient_through_target
    ),
}
"""The readable forms, by `loss.kind`."""
FUSED: dict[str, Callable[[LossSettings], Pull | None]] = {
    "cross_entropy": lambda settings: None,
    "augmented": _pull,
    "augmented_2016": _pull,
}
"""Argument of a form's fast twin, by `loss.kind`; a form that is not here has no fast twin."""
