"""Targets with output vectors of their own, in the fast losses (Kong et al. 2019, section 4.2, training).

The target's score is put into its row before the row work, and its gradient taken out after it, so that it passes
through the drawn vector and not through the matrix.

Shapes: N tokens sorted by target, V words, E embedding size.
"""

from __future__ import annotations

import torch
from torch import Tensor


class DrawnTargets:
    """The drawn vectors of one call and the gradients on both sides of their scores."""

    def __init__(self, drawn_NE: Tensor) -> None:
        self.drawn_NE = drawn_NE
        self.d_drawn_NE = torch.empty_like(drawn_NE)
        self.d_query_NE = torch.empty_like(drawn_NE)

    def put(self, rows: Tensor, query_NE: Tensor, targets_N: Tensor, here: slice) -> None:
        """Scores of the targets, for the tokens `here`, into their rows."""
        scores_N1 = (query_NE[here] * self.drawn_NE[here]).sum(1, keepdim=True)
        rows[: len(targets_N)].scatter_(1, targets_N[:, None], scores_N1.to(rows.dtype))

    def take(self, rows: Tensor, query_NE: Tensor, targets_N: Tensor, here: slice) -> None:
        """Gradients of the targets' scores out of their rows; the -1 of p - onehot joins them here, in fp32."""
        rows = rows[: len(targets_N)]
        d_scores_N1 = rows.gather(1, targets_N[:, None]).to(self.drawn_NE.dtype) - 1
        rows.scatter_(1, targets_N[:, None], 0)
        self.d_query_NE[here] = d_scores_N1 * self.drawn_NE[here]
        self.d_drawn_NE[here] = d_scores_N1 * query_NE[here]
