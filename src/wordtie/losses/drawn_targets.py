"""Drawn output vectors: the target's own score comes from a row of its own (Kong et al. 2019, section 4.2, training).

Variational smoothing draws only the target's row of the output matrix; every other word keeps its row, and so its
score, in the normaliser too.

Shapes: N tokens, V words, E embedding size.
"""

from __future__ import annotations

from torch import Tensor


def with_drawn_targets(scores_NV: Tensor, query_NE: Tensor, targets_N: Tensor, drawn_NE: Tensor | None) -> Tensor:
    """The scores with each target's replaced by query . drawn; as they are where nothing is drawn."""
    if drawn_NE is None:
        return scores_NV
    return scores_NV.scatter(1, targets_N[:, None], (query_NE * drawn_NE).sum(1, keepdim=True))
