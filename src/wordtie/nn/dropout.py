"""Dropout masks: what is dropped is 0, what is kept is scaled, so that nothing changes at prediction.

`mask` drops entries of any shape. `element_mask` drops single coordinates from 16 random bits each, several times
cheaper than a uniform number. `word_mask` drops whole words (Gal & Ghahramani 2016, section 4.2, "word embedding
dropout"): one draw for each distinct word of each stream's window, so that a dropped word is dropped wherever it
occurs in the window.

Shapes: T steps, B streams, M distinct words of all streams.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from wordtie.nn.drawn_rows import distinct_words

LANES = 1 << 16


def mask(shape: Sequence[int], drop: float, like: Tensor) -> Tensor | None:
    """Draw entries 0 or 1 / (1 - drop), on the device and in the dtype of `like`; None if nothing is dropped."""
    if drop == 0:
        return None
    keep = 1 - drop
    # in less than half the time that `bernoulli_` takes, which counts where a mask is drawn for every step
    return torch.rand(*shape, dtype=like.dtype, device=like.device).lt_(keep).div_(keep)


def element_mask(rows: int, size: int, rate: float, like: Tensor) -> Tensor:
    """Draw zeros at `rate`, else 1 / (share kept); (rows, size) in the dtype and on the device of `like`.

    The rate is rounded to 1 / 65536. Kept coordinates are scaled by the rounded share: the mean of a mask is one.
    """
    dropped = min(round(rate * LANES), LANES - 1)
    bits = torch.empty(-(-rows * size // 4), dtype=torch.int64, device=like.device)
    lanes = bits.random_(-(2**63), None).view(torch.int16)[: rows * size].view(rows, size)
    return (lanes >= dropped - LANES // 2).to(like.dtype).mul_(LANES / (LANES - dropped))


def word_mask(ids_TB: Tensor, vocabulary_size: int, drop: float, like: Tensor) -> Tensor | None:
    """Draw a mask for word vectors, (T, B, 1); None if nothing is dropped."""
    if drop == 0:
        return None
    rows = distinct_words(ids_TB[None], vocabulary_size)
    mask_M = mask(rows.words_M.shape, drop, like)
    return None if mask_M is None else mask_M[rows.row_KTB[0], None]
