"""The most likely words of each row of scores, and their log probabilities, for beam search.

Of V words a beam of k wants 2k, so nothing is sorted: a row is read once for its highest score in each block of words
and once for the sum of its softmax, and only blocks that hold a word for the list are looked into. Of equal scores the
word with the smaller id comes first.

Shapes: B rows, V words, K words wanted.
"""

from __future__ import annotations

import torch
from torch import Tensor

from wordtie.kernels.backend import in_parts, numba_serves


def best_words(logits_BV: Tensor, bias_V: Tensor | None, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return (log p (B, K), ids (B, K), log of the softmax's denominator (B, 1)) of the K = `count` most likely words,
    best first, or of all words if there are fewer.

    `logits_BV` lack the bias; they may be overwritten.

    >>> log_p, ids, _ = best_words(torch.tensor([[0.0, 2.0, 1.0]]), torch.tensor([0.5, 0.0, 2.0]), 2)
    >>> ids.tolist(), [round(each, 3) for each in log_p[0].tolist()]
    ([[2, 1]], [-0.372, -1.372])
    """
    count = min(count, logits_BV.shape[1])
    if numba_serves(logits_BV):
        from wordtie.kernels.best_words_numba import find

        log_p, normaliser = logits_BV.new_empty(len(logits_BV), count), logits_BV.new_empty(len(logits_BV), 1)
        ids = torch.empty(len(logits_BV), count, dtype=torch.int64)
        bias = logits_BV.new_zeros(logits_BV.shape[1]) if bias_V is None else bias_V.detach()
        arrays = [each.numpy() for each in (logits_BV, bias, log_p, ids, normaliser[:, 0])]
        in_parts(lambda begin, end: find(*arrays, begin, end), len(log_p))
        return log_p, ids, normaliser
    if bias_V is not None:
        logits_BV += bias_V
    best_BK, ids_BK = (each[:, :count] for each in logits_BV.sort(dim=1, descending=True, stable=True))
    highest_B1 = best_BK[:, :1].clone()
    normaliser_B1 = logits_BV.sub_(highest_B1).exp_().sum(1, keepdim=True).log_() + highest_B1
    return best_BK - normaliser_B1, ids_BK, normaliser_B1
