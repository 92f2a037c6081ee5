"""The augmented loss with cross-entropy in the place of the divergence (Inan & Khosravi 2016, section 3.2).

    CE(y~, y^) = KL(y~ || y^) + H(y~),        y~ = softmax(L u / tau)

so that the loss in this form is the one with the divergence, readable or fast, plus the entropy of the similar words.
That entropy depends on the target word only; it is worked out once per distinct word. Where no gradient flows through
y~ it is a constant, and both forms train alike.

Shapes: N tokens, V words, E embedding size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch.nn.functional as F
from torch import Tensor

from wordtie.losses.loss import Loss, LossSum, Scoring


@dataclass(frozen=True)
class CrossEntropyForm(Loss):
    """`with_divergence`, and `weight` times the entropy of each token's similar words."""

    with_divergence: Loss
    weight: float
    """alpha, that of the divergence: gamma * tau."""
    temperature: float
    gradient_through_target: bool = True

    def of(self, scoring: Scoring) -> LossSum:
        """Sum over the N tokens, in nats."""
        loss = self.with_divergence.of(scoring)
        input_VE = scoring.input_VE if self.gradient_through_target else scoring.input_VE.detach()
        entropy = entropy_of_similar_words(input_VE, scoring.targets_N, self.temperature)
        return replace(loss, total=loss.total + self.weight * entropy)


def entropy_of_similar_words(input_VE: Tensor, targets_N: Tensor, temperature: float) -> Tensor:
    """Sum over the tokens of H(softmax(L u / tau)), in nats."""
    words_M, tokens_M = targets_N.unique(return_counts=True)
    log_MV = F.log_softmax(input_VE[words_M] @ input_VE.T / temperature, dim=1)
    total: Tensor = -((log_MV.exp() * log_MV).sum(1) * tokens_M).sum()
    return total
