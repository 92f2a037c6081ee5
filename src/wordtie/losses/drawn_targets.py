"""Drawn output vectors: the target's own score comes from a row of its own (Kong et al. 2019, section 4.2, training).

Variational smoothing draws only the target's row of the output matrix; every other word keeps its row, and so its
score, in the normaliser too.

Shapes: N tokens, V words, E embedding size.
"""

from __future__ import annotations

from torch import Tensor

from wordtie.losses.loss import Scoring


def scores(scoring: Scoring) -> Tensor:
    """W q without the bias, (N, V), each target's replaced by query . drawn where something is drawn."""
    scores_NV = scoring.query_NE @ scoring.output_VE.T
    if scoring.drawn_NE is None:
        return scores_NV
    return scores_NV.scatter(1, scoring.targets_N[:, None], (scoring.query_NE * scoring.drawn_NE).sum(1, keepdim=True))
