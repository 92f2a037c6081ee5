"""The word matrix: one row per word, owned here and nowhere else.

Inan, Khosravi & Socher (2017), section 4, and Press & Wolf (2017): the matrix that reads words also
scores them. Ties are made by passing `weight` at call time (see `wordtie.heads`), never by giving
two modules the same parameter, so that no load, resize, `.to()` or resume can untie it.

Shapes: V words, E embedding size, T steps, B streams.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class WordMatrix(nn.Module):
    """V rows of size E; `forward` looks rows up."""

    def __init__(self, words: int, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(words, size))
        self.sparse = False
        """Whether the gradient of a look-up is a sparse tensor of the rows looked up."""

    def forward(self, ids_TB: Tensor) -> Tensor:
        """Map (T, B) ids to (T, B, E) vectors."""
        return F.embedding(ids_TB, self.weight, sparse=self.sparse)
