"""The tied heads: words are scored by the matrix that reads them, which is passed to a head at call time.

Tied, with no matrix of its own: Inan, Khosravi & Socher (2017), section 4 (RE: output bias 0), and Press & Wolf (2017)
(WT: U = V).

Tied with a linear map, so that hidden and embedding size are free (tied+L) or the map is held small (WT + PR):
Gulordava, Aina & Boleda (2018), o = (h L) E^T with E the word matrix, and Press & Wolf (2017), the same with L square
and a penalty on it. The head stores L alone.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wordtie.heads.projection import Projection


class Tied(nn.Module):
    """The query is the hidden state itself, scored by the word matrix."""

    def __init__(self, words: int, bias: bool) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(words)) if bias else None

    def forward(self, hidden_NH: Tensor) -> Tensor:
        """Map (N, H) to the query (N, E), here with E = H."""
        return hidden_NH

    def output_matrix(self, word_matrix_VE: Tensor) -> Tensor:
        """Return the (V, E) matrix that scores the query: the one passed in."""
        return word_matrix_VE

    def penalty(self) -> Tensor | float:
        """Return 0: there is nothing to add to the loss."""
        return 0.0


class TiedLinear(Tied):
    """The query is h L, scored by the word matrix."""

    def __init__(self, words: int, projection: Projection, bias: bool) -> None:
        super().__init__(words, bias)
        self.projection = projection

    def forward(self, hidden_NH: Tensor) -> Tensor:
        """Map (N, H) to the query (N, E)."""
        query_NE: Tensor = self.projection(hidden_NH)
        return query_NE

    def penalty(self) -> Tensor | float:
        """Return the map's penalty in nats, to be added to the loss summed over a window's tokens."""
        return self.projection.penalty()
