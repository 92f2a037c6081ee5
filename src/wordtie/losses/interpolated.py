"""Between cross-entropy and the augmented loss: equation 6.1 of Inan, Khosravi & Socher (2017).

    J = beta * J_aug * tau^2 * V + (1 - beta) * J_ce,        J_aug = KL(softmax(L u / tau) || softmax(W h / tau))

tau^2 V brings the gradients of both to about the same size (equation 4.3). With beta = 1, only the divergence is
learnt from; the paper then keeps the rows of the input matrix at norm 1 (`model.unit_rows`).

Shapes: N tokens, V words, E embedding size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wordtie.losses.augmented import AugmentedLoss
from wordtie.losses.loss import Loss, LossSum, Scoring


@dataclass(frozen=True)
class Interpolated(Loss):
    """`beta` of the divergence, scaled, and 1 - `beta` of the cross-entropy."""

    temperature: float
    beta: float
    gradient_through_target: bool | Literal["entropy"] = True

    def forward(self, scoring: Scoring) -> LossSum:
        """Return the sum over the N tokens, in nats."""
        augmented = AugmentedLoss(self.temperature, 1.0, self.gradient_through_target)
        cross_entropy, divergence = augmented.terms(scoring)
        scale = self.temperature**2 * len(scoring.output_VE)
        total = self.beta * scale * divergence + (1 - self.beta) * cross_entropy
        return LossSum(cross_entropy, total, tokens=scoring.targets_N.numel())
