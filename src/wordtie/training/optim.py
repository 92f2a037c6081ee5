"""Optimisers by name, and the learning rate of an epoch.

Learning rates and clipping refer to the loss summed over the steps of a window and averaged over its
streams, as the classic recipes have it (Zaremba et al. 2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from wordtie.config import TrainingSettings

OPTIMISERS: dict[str, Callable[[Iterable[Tensor], float], torch.optim.Optimizer]] = {
    "sgd": lambda parameters, lr: torch.optim.SGD(parameters, lr=lr),
    "adam": lambda parameters, lr: torch.optim.Adam(parameters, lr=lr),
}


def learning_rate(settings: TrainingSettings, epoch: int) -> float:
    """The rate of an epoch, counted from 1: decayed once for each epoch after `decay_after`."""
    return settings.lr * settings.decay ** max(0, epoch - settings.decay_after)


def clip_global_norm(parameters: Iterable[Tensor], limit: float) -> Tensor:
    """Scale all gradients so that their joint norm is at most `limit` (0: leave them); returns the norm before."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    if limit > 0:
        torch._foreach_mul_(gradients, (limit / (norm + 1e-12)).clamp(max=1.0))
    return norm
