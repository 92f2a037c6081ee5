"""Sampled softmax: a loss whose cost does not grow with the vocabulary.

The normaliser of a token, Z = sum over all words v of exp(z_v), is estimated from candidates that all tokens of the
window share: the window's target words T, and a sample S of the vocabulary. A word that was drawn c_v times, and is
drawn pi_v times in expectation, counts as c_v / pi_v words (Horvitz & Thompson 1952):

    Z' = sum over v in T of exp(z_v) + sum over v in S but not in T of c_v / pi_v * exp(z_v),        E[Z'] = Z

So each candidate's score gets log(c_v / pi_v), the importance correction of Bengio & Senecal (2008) and
Jean et al. (2015), and 0 for a target, and the loss is that of the softmax over the candidates. Each word is a
candidate once: a target that is also drawn counts as a target, which removes accidental hits.

pi_v = min(1, rate * count_v ** power), with the rate that makes `samples` words in expectation: frequent words are
always there, with weight one. The others are drawn with one random number for each stretch of length 1 of their
cumulated pi_v, which makes pi_v exact and varies less than independent draws.

Shapes: N tokens, V words, M distinct targets, K drawn words, C candidates, E embedding size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from wordtie.losses.loss import Loss, LossSum, Scoring


class CandidateSampler:
    """Draws words without regard to the text. Random numbers are PyTorch's."""

    def __init__(self, count_V: Tensor, samples: int, power: float) -> None:
        """`samples`: expected number of words in a draw; all words if there are no more.

        A word that the training text lacks counts as if it occurred once.
        """
        self.expected_V = inclusion(count_V.clamp(min=1).double() ** power, samples)
        always_V = self.expected_V >= 1
        self.always = always_V.nonzero().flatten()
        self.others = (~always_V).nonzero().flatten()
        self.cumulated = self.expected_V[self.others].cumsum(0)
        self.draws = round(float(self.cumulated[-1])) if len(self.others) else 0

    def draw(self) -> tuple[Tensor, Tensor]:
        """Return (distinct words (K,), log(times drawn / times expected) (K,) float32)."""
        always, device = self.always, self.always.device
        if not self.draws:
            return always, torch.zeros(len(always), device=device)
        random = torch.rand(self.draws, dtype=torch.float64, device=device)
        places = (torch.arange(self.draws, device=device) + random) * (self.cumulated[-1] / self.draws)
        cells = torch.searchsorted(self.cumulated, places).clamp_(max=len(self.others) - 1)
        cells, times = cells.unique_consecutive(return_counts=True)
        words = self.others[cells]
        log_weight = (times / self.expected_V[words]).log().float()
        return torch.cat([always, words]), torch.cat([log_weight.new_zeros(len(always)), log_weight])


def inclusion(weight_V: Tensor, samples: int) -> Tensor:
    """Return each word's expected count in a draw: min(1, rate * weight), summing to `samples`; all 1 for V or more.

    >>> inclusion(torch.tensor([6.0, 1.0, 1.0]), 2).tolist()
    [1.0, 0.5, 0.5]
    """
    if samples >= len(weight_V):
        return torch.ones_like(weight_V)
    always_V = torch.zeros_like(weight_V, dtype=torch.bool)
    while True:
        rate = (samples - always_V.sum()) / weight_V[~always_V].sum()
        expected_V = torch.where(always_V, 1.0, weight_V * rate)
        more_V = ~always_V & (expected_V >= 1)
        if not more_V.any():
            return expected_V
        always_V |= more_V


@dataclass(frozen=True)
class SampledLoss(Loss):
    """Another loss over the candidates instead of the whole vocabulary.

    The cross-entropy that it returns is an estimate, on average a little too low. What an augmented loss adds is
    restricted to the candidates, without their weights.
    """

    full: Loss
    """The loss over the whole vocabulary, in its readable form or its fast twin."""
    sampler: CandidateSampler
    sparse: bool
    """Whether the gradient of a word matrix is a sparse tensor of the candidates' rows."""

    def forward(self, scoring: Scoring) -> LossSum:
        """Return the sum over the N tokens, in nats; the candidates are drawn for each call."""
        targets_M, place_N = scoring.targets_N.unique(return_inverse=True)
        drawn_K, log_weight_K = self.sampler.draw()
        other_K = ~torch.isin(drawn_K, targets_M, assume_unique=True)
        words_C = torch.cat([targets_M, drawn_K[other_K]])
        log_weight_C = torch.cat([log_weight_K.new_zeros(len(targets_M)), log_weight_K[other_K]])
        return self.full.forward(self.restricted(scoring, words_C, log_weight_C, place_N))

    def restricted(self, scoring: Scoring, words_C: Tensor, log_weight_C: Tensor, place_N: Tensor) -> Scoring:
        """Return the same tokens with the candidates as the vocabulary; `place_N`: each token's target among them."""
        log_weight_C = log_weight_C.to(scoring.query_NE.dtype)
        output_CE = self.rows(scoring.output_VE, words_C)
        tied = scoring.input_VE is scoring.output_VE
        return replace(
            scoring,
            output_VE=output_CE,
            bias_V=log_weight_C if scoring.bias_V is None else scoring.bias_V[words_C] + log_weight_C,
            targets_N=place_N,
            input_VE=output_CE if tied else self.rows(scoring.input_VE, words_C),
        )

    def rows(self, matrix_VE: Tensor, words_C: Tensor) -> Tensor:
        """Return the candidates' rows, (C, E); the gradient is dense for a matrix that was made from another one."""
        return F.embedding(words_C, matrix_VE, sparse=self.sparse and matrix_VE.is_leaf)
