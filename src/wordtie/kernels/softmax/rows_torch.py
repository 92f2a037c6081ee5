"""Row work of the fast losses in plain torch: for GPUs, for float64 and where numba is not installed.

The same as `wordtie.kernels.softmax.row_kernels`, a chunk at a time: scores become their gradient in place, in float32
(float64 for float64) whatever the rows are held in.

Shapes: N tokens and M words of a chunk, V words of the vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor


def wide(rows: Tensor) -> Tensor:
    """Return scores in the precision that sums are taken in."""
    return rows.to(torch.promote_types(rows.dtype, torch.float32))


def _predicted(scores_NV: Tensor, bias_V: Tensor | None, targets_N: Tensor) -> tuple[Tensor, Tensor]:
    """Return (summed cross-entropy, softmax(scores + bias))."""
    log_p = (scores_NV if bias_V is None else scores_NV + bias_V).log_softmax(dim=1)
    nats = -log_p.gather(1, targets_N[:, None]).sum(dtype=torch.float64)
    return nats, log_p.exp_()


def cross_entropy_rows(rows_NV: Tensor, bias_V: Tensor | None, targets_N: Tensor) -> tuple[Tensor, Tensor]:
    """Turn rows into softmax(scores + bias): -> (summed cross-entropy, their sum over the tokens (V,))."""
    nats, predicted_NV = _predicted(wide(rows_NV), bias_V, targets_N)
    rows_NV.copy_(predicted_NV)
    return nats, predicted_NV.sum(0)


def augmented_rows(
    rows: Tensor,
    bias_V: Tensor | None,
    targets_N: Tensor,
    word_of_N: Tensor,
    temperature: float,
    gamma: float,
    divergent: bool,
    biased: bool,
    entropy_alone: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Turn `rows`, N token rows, then M word rows, into gradients; token n's target is word `word_of_N[n]` of the M.

    On return token rows hold d(total)/d(score) less the target's own -1, word rows d(total)/d(similarity score).
    -> (summed cross-entropy, summed divergence, gradient of the bias without the targets' own -1 (V,)). If not
    `divergent`, the second is the cross-entropy between similarities and prediction; if `biased`, the bias takes
    part in it; if `entropy_alone`, word rows hold what the entropy of the similarities gives them.
    """
    tokens = len(targets_N)
    scores_NV, similarity_MV = wide(rows[:tokens]), wide(rows[tokens:])
    own_M = torch.zeros_like(similarity_MV[:, 0])
    if divergent:  # as often as the word is a target
        own_M.index_add_(0, word_of_N, torch.ones_like(scores_NV[:, 0]))
    held_NV = scores_NV + bias_V if biased and bias_V is not None else scores_NV
    own_MV = similarity_MV * own_M[:, None]
    rest_MV = (own_MV.clone() if entropy_alone else own_MV).index_add_(0, word_of_N, held_NV, alpha=-1)
    normaliser_M = (similarity_MV / temperature).logsumexp(dim=1, keepdim=True)
    similar_MV = (similarity_MV / temperature - normaliser_M).exp_()
    mean_M = (similar_MV * rest_MV).sum(dim=1, keepdim=True)

    nats, predicted_NV = _predicted(scores_NV, bias_V, targets_N)
    learnt_V = predicted_NV.sum(0)
    soft_NV = held_NV / temperature
    soft_normaliser_N = soft_NV.logsumexp(dim=1, keepdim=True)
    soft_NV = soft_NV.sub_(soft_normaliser_N).exp_().sub_(similar_MV[word_of_N])
    if biased:
        learnt_V += gamma * soft_NV.sum(0)
    divergence = (
        mean_M.sum(dtype=torch.float64) / temperature
        + soft_normaliser_N.sum(dtype=torch.float64)
        - (own_M * normaliser_M[:, 0]).sum(dtype=torch.float64)
    )
    rows[:tokens] = predicted_NV.add_(soft_NV, alpha=gamma)
    if entropy_alone:
        rest_MV, mean_M = own_MV, (similar_MV * own_MV).sum(dim=1, keepdim=True)
    rows[tokens:] = similar_MV.mul_(rest_MV.sub_(mean_M)).mul_(gamma / temperature)
    return nats, divergence, learnt_V
