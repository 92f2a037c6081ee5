"""A dropout mask: what is dropped is 0, what is kept is scaled, so that nothing changes at prediction."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def mask(shape: Sequence[int], drop: float, like: Tensor) -> Tensor | None:
    """Entries 0 or 1 / (1 - drop), on the device of `like` and in its dtype; None where nothing is dropped."""
    if drop == 0:
        return None
    keep = 1 - drop
    # in less than half the time that `bernoulli_` takes, which counts where a mask is drawn for every step
    return torch.rand(*shape, dtype=like.dtype, device=like.device).lt_(keep).div_(keep)
