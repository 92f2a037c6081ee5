"""The untied head: a second word matrix, for the output alone (the papers' baseline).

With a projection it is PR of Press & Wolf (2017): h_3 = V P h_2, and a penalty on P.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wordtie.heads.projection import Projection


class Untied(nn.Module):
    """The query is the hidden state, or its projection, scored by a matrix of the head's own, with a row per word."""

    def __init__(self, words: int, size: int, bias: bool, projection: Projection | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(words, size))
        self.bias = nn.Parameter(torch.zeros(words)) if bias else None
        self.projection = projection

    def forward(self, hidden_NH: Tensor) -> Tensor:
        """Map (N, H) to the query: (N, H), or (N, E) with a projection."""
        if self.projection is None:
            return hidden_NH
        query_NE: Tensor = self.projection(hidden_NH)
        return query_NE

    def output_matrix(self, word_matrix_VE: Tensor) -> Tensor:
        """Return the head's own matrix; the word matrix is not used."""
        return self.weight

    def penalty(self) -> Tensor | float:
        """Return the projection's penalty in nats, added to the loss summed over a window's tokens; 0 without one."""
        return 0.0 if self.projection is None else self.projection.penalty()
