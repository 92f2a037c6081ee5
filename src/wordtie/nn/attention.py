"""Additive attention: how much each source position matters to a decoder state (Bahdanau, Cho & Bengio 2015).

    e_s = v . tanh(K a_s + b + Q h),    w = softmax(e) over the positions that are there,    c = sum_s w_s a_s

K a_s + b does not depend on the decoder's state, so it is computed once per sentence (`keys`).

Shapes: B sentences, S source positions, D size of an annotation, A units of attention, H decoder units.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class AdditiveAttention(nn.Module):
    """`attention(hidden_BH, keys_BSA, annotations_BSD, present_BS) -> (context_BD, weights_BS)`."""

    def __init__(self, annotation: int, hidden: int, units: int) -> None:
        super().__init__()
        self.key_weight = nn.Parameter(torch.empty(units, annotation))
        self.key_bias = nn.Parameter(torch.zeros(units))
        self.query_weight = nn.Parameter(torch.empty(units, hidden))
        self.score = nn.Parameter(torch.empty(units))

    def keys(self, annotations_BSD: Tensor) -> Tensor:
        """Return the keys, (B, S, A)."""
        return nn.functional.linear(annotations_BSD, self.key_weight, self.key_bias)

    def forward(
        self, hidden_BH: Tensor, keys_BSA: Tensor, annotations_BSD: Tensor, present_BS: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return context (B, D) and weights (B, S), which are exactly 0 where `present_BS` is false.

        A sentence may have several states, which follow each other: with k states of each of B sentences, `hidden_BH`,
        context and weights have B * k rows.
        """
        query_BkA = (hidden_BH @ self.query_weight.T).view(len(keys_BSA), -1, len(self.score))
        scores_BkS = (keys_BSA[:, None] + query_BkA[:, :, None]).tanh_() @ self.score
        weights_BkS = scores_BkS.masked_fill(~present_BS[:, None], -torch.inf).softmax(2)
        return torch.bmm(weights_BkS, annotations_BSD).flatten(0, 1), weights_BkS.flatten(0, 1)
