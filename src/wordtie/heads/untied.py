"""The untied head: a second word matrix, for the output alone (the papers' baseline)."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Untied(nn.Module):
    """The query is the hidden state, scored by a (V, H) matrix of the head's own."""

    def __init__(self, words: int, hidden: int, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(words, hidden))
        self.bias = nn.Parameter(torch.zeros(words)) if bias else None

    def forward(self, hidden_NH: Tensor) -> Tensor:
        """(N, H) to the query (N, H)."""
        return hidden_NH

    def output_matrix(self, word_matrix_VE: Tensor) -> Tensor:
        """The head's own matrix; the word matrix takes no part."""
        return self.weight
