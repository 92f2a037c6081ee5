"""Additive attention's work on (B, S, A) numbers, in plain torch. The same calls as `wordtie.kernels.attention_numba`.

Shapes: B sentences, S source positions, A units of attention.
"""

from __future__ import annotations

from torch import Tensor


def scores(keys_BSA: Tensor, query_BA: Tensor, score_A: Tensor) -> Tensor:
    """Return tanh(keys + query) . score, (B, S). With fewer keys, each serves equally many consecutive queries."""
    query_BkA = query_BA.view(len(keys_BSA), -1, len(score_A))
    return ((keys_BSA[:, None] + query_BkA[:, :, None]).tanh_() @ score_A).flatten(0, 1)


def backward(
    keys_BSA: Tensor, query_BA: Tensor, score_A: Tensor, d_scores_BS: Tensor, d_keys_BSA: Tensor, d_score_A: Tensor
) -> Tensor:
    """Return d query (B, A); add to `d_keys_BSA` and `d_score_A`."""
    activation = (keys_BSA + query_BA[:, None]).tanh_()
    d_score_A += d_scores_BS.flatten() @ activation.flatten(0, 1)
    d_inner = (1 - activation.square_()).mul_(score_A).mul_(d_scores_BS[:, :, None])
    d_keys_BSA += d_inner
    return d_inner.sum(1)
