"""The tied head with a linear map: hidden and embedding size are free (tied+L), or the map is held small (WT + PR).

Gulordava, Aina & Boleda (2018): o = (h L) E^T, E the word matrix. Press & Wolf (2017): the same with L square and a
penalty on it. The head stores L alone; it is handed the word matrix at call time.
"""

from __future__ import annotations

from torch import Tensor

from wordtie.heads.projection import Projection
from wordtie.heads.tied import Tied


class TiedLinear(Tied):
    """The query is h L, scored by the word matrix."""

    def __init__(self, words: int, projection: Projection, bias: bool) -> None:
        super().__init__(words, bias)
        self.projection = projection

    def forward(self, hidden_NH: Tensor) -> Tensor:
        """(N, H) to the query (N, E)."""
        query_NE: Tensor = self.projection(hidden_NH)
        return query_NE

    def penalty(self) -> Tensor | float:
        """The map's, in nats, to be added to the loss summed over a window's tokens."""
        return self.projection.penalty()
