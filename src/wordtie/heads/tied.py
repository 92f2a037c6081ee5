"""The tied head: words are scored by the matrix that reads them.

Inan, Khosravi & Socher (2017), section 4 (RE: output bias 0), and Press & Wolf (2017) (WT: U = V).
The head stores no matrix; it is handed the word matrix at call time.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Tied(nn.Module):
    """The query is the hidden state itself, scored by the word matrix."""

    def __init__(self, words: int, bias: bool) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(words)) if bias else None

    def forward(self, hidden_NH: Tensor) -> Tensor:
        """(N, H) to the query (N, E), here with E = H."""
        return hidden_NH

    def output_matrix(self, word_matrix_VE: Tensor) -> Tensor:
        """The (V, E) matrix that scores the query: the one handed in."""
        return word_matrix_VE

    def penalty(self) -> Tensor | float:
        """Nothing to add to the loss."""
        return 0.0
