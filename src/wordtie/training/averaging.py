"""The mean of the weights over steps (Polyak & Juditsky 1992; NT-ASGD of Merity, Keskar & Socher 2018).

Training continues with the weights themselves; the mean is measured and exported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from wordtie.models.trainable import TrainableModel


class Average:
    """The mean of a model's parameters over the steps since `begin`."""

    def __init__(self) -> None:
        self.mean: dict[str, Tensor] = {}
        """Mean of each parameter, by name; empty before `begin`."""
        self.steps = 0

    def begin(self, model: nn.Module) -> None:
        """Start averaging with the parameters as they are."""
        self.mean = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        self.steps = 1

    @torch.no_grad()
    def add(self, model: nn.Module) -> None:
        """Add the parameters of one more step to the mean; do nothing before `begin`."""
        if not self.mean:
            return
        self.steps += 1
        for name, parameter in model.named_parameters():
            self.mean[name].lerp_(parameter, 1 / self.steps)

    @contextmanager
    def applied(self, model: TrainableModel) -> Iterator[None]:
        """Give the model the mean as its parameters, if there is one, and its own back afterwards, bit for bit.

        If parameters are constrained, for example to unit rows, so is their mean.
        """
        parameters = dict(model.named_parameters()) if self.mean else {}
        own = {name: parameter.data for name, parameter in parameters.items()}
        try:
            for name, parameter in parameters.items():
                parameter.data = self.mean[name].clone()
            if parameters:
                model.constrain()
            yield
        finally:
            for name, parameter in parameters.items():
                parameter.data = own[name]
