"""Label smoothing: a share of the target's probability is spread over all words (Szegedy et al. 2016, section 7).

    (1 - eps) CE(target) + eps / V * sum_v -log p_v  =  CE(target) + eps * (z_target - mean_v z_v),    z = W q + b

The log-normaliser is the same in both terms, so what smoothing adds is linear in the scores. It needs two vectors for a
token, its target's and the mean of all, and never the token's V scores. Any loss that has the cross-entropy in it can
be smoothed, the fast twins too.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from wordtie.losses.loss import Loss, LossSum, Scoring


@dataclass(frozen=True)
class LabelSmoothing(Loss):
    """Another loss, with label smoothing. The reported cross-entropy stays that of the target.

    Raises `ValueError` for a share that is not in [0, 1).
    """

    loss: Loss
    share: float
    """The share of the probability that is spread, eps."""

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise ValueError(f"the share must be in [0, 1), got {self.share}")

    def forward(self, scoring: Scoring) -> LossSum:
        """Return the sum over the N tokens, in nats."""
        found = self.loss.forward(scoring)
        return LossSum(found.cross_entropy, found.total + self.share * self.distance(scoring), found.tokens)

    @staticmethod
    def distance(scoring: Scoring) -> Tensor:
        """Return the sum over tokens of z_target - mean_v z_v; a vector drawn for the target is in the mean, too."""
        query_NE, targets_N = scoring.query_NE, scoring.targets_N
        target_NE = scoring.output_VE[targets_N]
        mean_E = scoring.output_VE.mean(0)
        distance = (query_NE * target_NE).sum() - query_NE.sum(0) @ mean_E
        if scoring.drawn_NE is not None:
            moved = (query_NE * (scoring.drawn_NE - target_NE)).sum()
            distance = distance + moved * (1 - 1 / len(scoring.output_VE))
        if scoring.bias_V is not None:
            distance = distance + scoring.bias_V[targets_N].sum() - targets_N.numel() * scoring.bias_V.mean()
        return distance
