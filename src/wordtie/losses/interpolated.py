"""Between cross-entropy and the augmented loss: equation 6.1 of Inan, Khosravi & Socher (2017).

    J = beta * J_aug * tau^2 * V + (1 - beta) * J_ce,        J_aug = KL(softmax(L u / tau) || softmax(W h / tau))

tau^2 V brings the gradients of both to about the same size (equation 4.3). With beta at 1 only the divergence is
learnt from; the paper holds the rows of the input matrix at norm 1 for that (`model.unit_rows`).

Shapes: N tokens, V words, E embedding size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from wordtie.losses.augmented import AugmentedLoss
from wordtie.losses.cross_entropy import LossSum


@dataclass(frozen=True)
class Interpolated:
    """`beta` of the divergence, scaled, and 1 - `beta` of the cross-entropy."""

    temperature: float
    beta: float
    gradient_through_target: bool = True

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
        both = AugmentedLoss(self.temperature, 1.0, self.gradient_through_target)
        loss = both(query_NE, output_VE, bias_V, targets_N, input_VE, drawn_NE)
        divergence = (loss.total - loss.cross_entropy) / self.temperature
        scale = self.temperature**2 * len(output_VE)
        return replace(loss, total=self.beta * scale * divergence + (1 - self.beta) * loss.cross_entropy)
