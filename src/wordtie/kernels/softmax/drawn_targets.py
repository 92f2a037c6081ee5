"""Targets with output vectors of their own, in the fast losses (Kong et al. 2019, section 4.2, training).

The target's score is put into its row before the row work, and its gradient taken out after it, so that it passes
through the drawn vector and not through the matrix. In each piece of rows, one number per token is written and read;
vectors are multiplied once for all tokens, before the first piece and after the last.

Shapes: N tokens sorted by target, V words, E embedding size.
"""

from __future__ import annotations

import torch
from torch import Tensor


class DrawnTargets:
    """The drawn vectors of one call, their scores and the gradients of these."""

    def __init__(self, query_NE: Tensor, drawn_NE: Tensor) -> None:
        """`query_NE`: as the products read it, in the precision of `drawn_NE`."""
        self.query_NE, self.drawn_NE = query_NE, drawn_NE
        self.scores_N = torch.linalg.vecdot(query_NE, drawn_NE)
        self.d_scores_N = torch.empty_like(self.scores_N)
        self.row_N = torch.arange(len(query_NE), device=query_NE.device)

    def put(self, rows: Tensor, targets_N: Tensor, here: slice) -> None:
        """Put the scores of the targets, for the tokens `here`, into their rows."""
        rows[self._places(targets_N)] = self.scores_N[here].to(rows.dtype)

    def take(self, rows: Tensor, targets_N: Tensor, here: slice) -> None:
        """Take the gradients of the targets' scores out of their rows; the -1 of p - onehot is added here, in fp32."""
        places = self._places(targets_N)
        self.d_scores_N[here] = rows[places].to(self.d_scores_N.dtype) - 1
        rows[places] = 0

    def _places(self, targets_N: Tensor) -> tuple[Tensor, Tensor]:
        """Return the index of the targets' scores. (On a CPU, `scatter_` copies a whole bf16 matrix twice.)"""
        return self.row_N[: len(targets_N)], targets_N

    def add_gradient(self, d_query_NE: Tensor) -> Tensor:
        """Add the gradient of the queries; return that of the drawn vectors."""
        d_query_NE.addcmul_(self.d_scores_N[:, None], self.drawn_NE)
        return self.d_scores_N[:, None] * self.query_NE
