"""`wordtie.kernels.softmax.row_kernels` on tensors: the same calls as `wordtie.kernels.softmax.rows_torch`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from wordtie.kernels.backend import in_parts
from wordtie.kernels.softmax import row_kernels


def as_numpy(rows: Tensor) -> Any:
    """Return the tensor's memory as the row kernels take it: float32, or bfloat16 seen as uint16."""
    if rows.dtype == torch.bfloat16:
        return rows.view(torch.int16).numpy().view(np.uint16)
    return rows.numpy()


def cross_entropy_rows(rows_NV: Tensor, bias_V: Tensor | None, targets_N: Tensor) -> tuple[Tensor, Tensor | None]:
    """Turn rows into softmax(scores + bias): -> (summed cross-entropy, with a bias their sum over the tokens)."""
    rows, targets = as_numpy(rows_NV), targets_N.numpy()
    bias = None if bias_V is None else bias_V.contiguous().numpy()
    nats = np.empty(len(targets))
    groups = -(-len(targets) // row_kernels.GROUP)
    predicted = np.zeros((groups, 0 if bias_V is None else len(bias_V)), np.float32)
    in_parts(
        lambda begin, end: row_kernels.cross_entropy_rows(rows, bias, targets, begin, end, nats, predicted), groups
    )
    return torch.from_numpy(nats).sum(), None if bias_V is None else torch.from_numpy(predicted).sum(0)


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
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Turn token rows and word rows into gradients; see `rows_torch.augmented_rows`."""
    scores, targets = as_numpy(rows), targets_N.numpy()
    words = len(rows) - len(targets)
    first = np.searchsorted(word_of_N.numpy(), np.arange(words + 1))
    bias = None if temperature == 20 else np.zeros(rows.shape[1], np.float32)
    if bias_V is not None:
        bias = bias_V.contiguous().numpy()
    groups = -(-words // row_kernels.GROUP)
    predicted = np.zeros((groups, 0 if bias_V is None else len(bias_V)), np.float32)
    sums = np.empty((words, 2))
    settings = np.float32(temperature), np.float32(gamma), np.float32(divergent), np.float32(biased), entropy_alone
    in_parts(
        lambda begin, end: row_kernels.augmented_rows(
            scores, bias, targets, first, begin, end, *settings, sums, predicted
        ),
        groups,
    )
    nats, divergence = torch.from_numpy(sums).sum(0).unbind()
    return nats, divergence, None if bias_V is None else torch.from_numpy(predicted).sum(0)
