"""Optimisers by name, and clipping.

Learning rates and clipping refer to the loss summed over the steps of a window and averaged over its
streams, as the classic recipes have it (Zaremba et al. 2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from wordtie.config import TrainingSettings


def _sgd(parameters: Iterable[Tensor], settings: TrainingSettings) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=settings.lr, weight_decay=settings.weight_decay)


def _adam(parameters: Iterable[Tensor], settings: TrainingSettings) -> torch.optim.Optimizer:
    betas = (settings.beta1, 0.999 if settings.beta2 is None else settings.beta2)
    # one pass over the parameters; the default makes eight, a fifth of a small model's step on a CPU
    return torch.optim.Adam(parameters, lr=settings.lr, betas=betas, weight_decay=settings.weight_decay, fused=True)


def _rmsprop(parameters: Iterable[Tensor], settings: TrainingSettings) -> torch.optim.Optimizer:
    alpha = 0.99 if settings.beta2 is None else settings.beta2
    return torch.optim.RMSprop(parameters, lr=settings.lr, alpha=alpha, weight_decay=settings.weight_decay)


OPTIMISERS: dict[str, Callable[[Iterable[Tensor], TrainingSettings], torch.optim.Optimizer]] = {
    "sgd": _sgd,
    "adam": _adam,
    "rmsprop": _rmsprop,
}
SLOTS: dict[str, tuple[str, ...]] = {
    "sgd": (),
    "adam": ("step", "exp_avg", "exp_avg_sq"),
    "rmsprop": ("step", "square_avg"),
}
"""What each keeps for a parameter from its first step on, as PyTorch names it."""


def build_optimiser(settings: TrainingSettings, parameters: Iterable[Tensor]) -> torch.optim.Optimizer:
    """The optimiser that the settings ask for."""
    return OPTIMISERS[settings.optimiser](parameters, settings)


def clip_global_norm(parameters: Iterable[Tensor], limit: float) -> Tensor:
    """Scale all gradients so that their joint norm is at most `limit` (0: leave them); returns the norm before."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    if limit > 0:
        torch._foreach_mul_(gradients, (limit / (norm + 1e-12)).clamp(max=1.0))
    return norm
