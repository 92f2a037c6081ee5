"""The interface that the trainer needs of a model, whatever it predicts."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn


class TrainableModel(nn.Module):
    """A module with a penalty, constraints and a choice of kernels; the language model is one."""

    def penalty(self) -> Tensor | float:
        """Return what the model adds to the loss summed over a batch's tokens, in nats."""
        return 0.0

    @torch.no_grad()
    def constrain(self) -> None:
        """Project the parameters onto their constraints, after a step of the optimiser."""

    @abstractmethod
    def use(self, fused: bool, precision: torch.dtype = torch.float32, sparse: bool = False) -> TrainableModel:
        """Choose the fast kernels, the precision of their large products, and sparse gradients; return the model."""

    @property
    def device(self) -> torch.device:
        """Device of the parameters."""
        return next(self.parameters()).device

    def parameter_count(self) -> int:
        """Return the number of trainable parameters, with a shared matrix counted once."""
        return sum(parameter.numel() for parameter in self.parameters())
