"""Variational dropout: one mask per stream, constant over the steps of a window.

Gal & Ghahramani (2016), as used by Inan, Khosravi & Socher (2017): a unit that is dropped stays dropped
for the whole window. Kept units are scaled by 1 / (1 - drop), so that nothing changes at prediction.
"""

from __future__ import annotations

import torch
from torch import Tensor


def window_mask(streams: int, size: int, drop: float, like: Tensor) -> Tensor | None:
    """A (streams, size) mask with entries 0 or 1 / (1 - drop); None where nothing is dropped."""
    if drop == 0:
        return None
    keep = 1 - drop
    return torch.empty(streams, size, dtype=like.dtype, device=like.device).bernoulli_(keep).div_(keep)
