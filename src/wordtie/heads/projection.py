"""The linear map L between the core and the output matrix, and its penalty.

Gulordava, Aina & Boleda (2018): the query is h L with L of shape (H, E), so that hidden and embedding size are free.
Press & Wolf (2017), section 3, have the same map as P, square, with the penalty lambda * |P|. The code that they
released adds 1/2 |P|^2 / (6.5 B) to a loss averaged over the B streams, which is 0.15 * 1/2 |P|^2 against the loss
summed over all tokens of a window. Both penalties are on that scale, and |P| is the Frobenius norm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn


class Projection(nn.Module):
    """A linear map from (N, H) to (N, E), with an optional bias."""

    def __init__(
        self,
        hidden: int,
        size: int,
        strength: float,
        form: Literal["squared_norm", "norm"],
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(hidden, size))
        self.bias = nn.Parameter(torch.zeros(size)) if bias else None
        self.strength = strength
        self.form = form
        self.multiply: Callable[[Tensor, Tensor], Tensor] = torch.matmul
        """The product; `wordtie.models` puts a fast twin here."""

    def forward(self, hidden_NH: Tensor) -> Tensor:
        """Return h L, plus the bias if there is one."""
        query_NE = self.multiply(hidden_NH, self.weight)
        return query_NE if self.bias is None else query_NE + self.bias

    def penalty(self) -> Tensor | float:
        """Return the penalty in nats, to be added to the loss summed over a window's tokens."""
        if self.strength == 0:
            return 0.0
        norm: Tensor = torch.linalg.vector_norm(self.weight)
        return self.strength * (norm if self.form == "norm" else norm.square() / 2)
