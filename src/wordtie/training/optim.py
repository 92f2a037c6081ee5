"""Optimisers by name, and clipping.

Learning rates and clipping refer to the loss summed over the steps of a window and averaged over its
streams, as the classic recipes have it (Zaremba et al. 2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from wordtie.config import TrainingSettings
from wordtie.models.language_model import WORD_MATRICES
from wordtie.training.row_adam import RowAdam

OF_WORDS = (*WORD_MATRICES, "source_embedding.weight")
"""Parameters with one row per word, those of a translation model included."""

Parameters: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]]
"""Parameters as torch's optimisers take them: tensors, or groups of them."""


def parameter_groups(model: nn.Module, word_rate: float) -> Parameters:
    """Return the model's parameters; in two groups, word matrices first, if these have a rate of their own."""
    if word_rate == 1:
        return model.parameters()
    words = [parameter for name, parameter in model.named_parameters() if name in OF_WORDS]
    others = [parameter for name, parameter in model.named_parameters() if name not in OF_WORDS]
    groups: list[dict[str, Any]] = [{"params": words, "rate": word_rate}, {"params": others}]
    return groups


def set_learning_rate(optimiser: torch.optim.Optimizer, lr: float) -> None:
    """Set the rate of every parameter: `lr` times the multiple of its group."""
    for group in optimiser.param_groups:
        group["lr"] = lr * group.get("rate", 1.0)


def _sgd(parameters: Parameters, settings: TrainingSettings) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=settings.lr, weight_decay=settings.weight_decay)


def _adam(parameters: Parameters, settings: TrainingSettings) -> torch.optim.Optimizer:
    betas = (settings.beta1, 0.999 if settings.beta2 is None else settings.beta2)
    # one pass over the parameters; the default makes eight, a fifth of a small model's step on a CPU
    return RowAdam(parameters, lr=settings.lr, betas=betas, weight_decay=settings.weight_decay, fused=True)


def _rmsprop(parameters: Parameters, settings: TrainingSettings) -> torch.optim.Optimizer:
    alpha = 0.99 if settings.beta2 is None else settings.beta2
    return torch.optim.RMSprop(parameters, lr=settings.lr, alpha=alpha, weight_decay=settings.weight_decay)


def _adadelta(parameters: Parameters, settings: TrainingSettings) -> torch.optim.Optimizer:
    rho = 0.95 if settings.beta2 is None else settings.beta2
    return torch.optim.Adadelta(parameters, lr=settings.lr, rho=rho, weight_decay=settings.weight_decay)


OPTIMISERS: dict[str, Callable[[Parameters, TrainingSettings], torch.optim.Optimizer]] = {
    "sgd": _sgd,
    "adam": _adam,
    "rmsprop": _rmsprop,
    "adadelta": _adadelta,
}
SLOTS: dict[str, tuple[str, ...]] = {
    "sgd": (),
    "adam": ("step", "exp_avg", "exp_avg_sq"),
    "rmsprop": ("step", "square_avg"),
    "adadelta": ("step", "square_avg", "acc_delta"),
}
"""What each optimiser keeps for a parameter from its first step on, under PyTorch's names."""


def build_optimiser(settings: TrainingSettings, parameters: Parameters) -> torch.optim.Optimizer:
    """Build the optimiser that the settings ask for."""
    optimiser = OPTIMISERS[settings.optimiser](parameters, settings)
    set_learning_rate(optimiser, settings.lr)
    return optimiser


def clip_global_norm(parameters: Iterable[Tensor], limit: float) -> Tensor:
    """Scale all gradients so that their joint norm is at most `limit` (0: leave them); return the norm before.

    Sparse gradients are coalesced first: rows that occur several times are added up.
    """
    gradients = [_numbers(p) for p in parameters if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    if limit > 0:
        torch._foreach_mul_(gradients, (limit / (norm + 1e-12)).clamp(max=1.0))
    return norm


def _numbers(parameter: Tensor) -> Tensor:
    """Return the values of a gradient: itself, or the rows of a sparse one. Changing them changes the gradient."""
    assert parameter.grad is not None
    if not parameter.grad.is_sparse:
        return parameter.grad
    parameter.grad = parameter.grad.coalesce()
    return parameter.grad.values()
