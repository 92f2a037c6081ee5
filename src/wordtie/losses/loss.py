"""The interface of every loss: what it is given, and what it returns.

Every loss returns a `LossSum`, so that whoever reports perplexity sums nats, counts tokens and divides once, whatever
else was trained on.

Shapes: N tokens, V words, E embedding size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Scoring:
    """What the scores of N tokens are computed from: query and matrix, not logits, which a fast loss need not hold."""

    query_NE: Tensor
    output_VE: Tensor
    bias_V: Tensor | None
    targets_N: Tensor
    input_VE: Tensor
    """Matrix in which similar words are looked for; `output_VE` itself when tied."""
    drawn_NE: Tensor | None = None
    """Output vectors that replace the targets' own rows, for variational smoothing."""


def scores(scoring: Scoring) -> Tensor:
    """Return W q without the bias, (N, V), with each target's score replaced by query . drawn if vectors are drawn.

    Variational smoothing draws only the target's row of the output matrix (Kong et al. 2019, section 4.2); every other
    word keeps its row, and so its score, in the normaliser too.
    """
    scores_NV = scoring.query_NE @ scoring.output_VE.T
    if scoring.drawn_NE is None:
        return scores_NV
    return scores_NV.scatter(1, scoring.targets_N[:, None], (scoring.query_NE * scoring.drawn_NE).sum(1, keepdim=True))


@dataclass(frozen=True)
class LossSum:
    """Sums over tokens, in nats."""

    cross_entropy: Tensor
    """What perplexity is computed from. Not differentiable if a fast twin computed it."""
    total: Tensor
    """What training minimises: cross-entropy plus whatever the loss adds to it."""
    tokens: int


class Loss(ABC):
    """loss(query_NE, output_VE, bias_V, targets_N, input_VE, drawn_NE) -> sums in nats; a loss defines `forward`."""

    @abstractmethod
    def forward(self, scoring: Scoring) -> LossSum:
        """Return the sums over the N tokens, in nats."""

    def __call__(
        self,
        query_NE: Tensor,
        output_VE: Tensor,
        bias_V: Tensor | None,
        targets_N: Tensor,
        input_VE: Tensor,
        drawn_NE: Tensor | None = None,
    ) -> LossSum:
        """Call `forward` with tensors in their order in `Scoring`."""
        return self.forward(Scoring(query_NE, output_VE, bias_V, targets_N, input_VE, drawn_NE))


class CrossEntropy(Loss):
    """-sum log softmax(W q + b)[target]: the readable form; `wordtie.kernels` has the fast ones."""

    def forward(self, scoring: Scoring) -> LossSum:
        """Return the sum over the N tokens, in nats."""
        scores_NV, bias_V = scores(scoring), scoring.bias_V
        logits_NV = scores_NV if bias_V is None else scores_NV + bias_V
        nats = F.cross_entropy(logits_NV, scoring.targets_N, reduction="sum")
        return LossSum(cross_entropy=nats, total=nats, tokens=scoring.targets_N.numel())
