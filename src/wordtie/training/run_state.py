"""Everything that decides what comes next in a run, and its form in a checkpoint.

Names in the file: `model.*`, `best.*` (what is kept) and `average.*` parameters, `averaged.steps`,
`optimiser.<parameter>.<slot>`, `state.<layer>.<part>` the carried state, `rng.cpu` and `rng.cuda`. The position is in
the record.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from wordtie.models.trainable import TrainableModel
from wordtie.nn.core import State
from wordtie.runs.result import Position
from wordtie.training.averaging import Average
from wordtie.training.task import Tensors


@dataclass
class RunState:
    """The model, its optimiser, and where in the text they are."""

    model: TrainableModel
    optimiser: torch.optim.Optimizer
    hidden_state: State
    """Carried from batch to batch: each layer's parts, (B, H)."""
    position: Position = field(default_factory=Position)
    kept: Tensors = field(default_factory=dict)
    """What is exported: the parameters of the best epoch, or of the last; empty before there is one."""
    average: Average = field(default_factory=Average)

    @property
    def device(self) -> torch.device:
        """Device of the model."""
        return self.model.device

    def parameters(self) -> Tensors:
        """Copy what is measured and exported: the model's parameters as they are now, or their mean."""
        with self.average.applied(self.model):
            return {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}

    def tensors(self) -> Tensors:
        """Return the tensors that a checkpoint holds, by name."""
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.kept.items()}
        tensors |= {f"average.{name}": tensor for name, tensor in self.average.mean.items()}
        if self.average.mean:
            tensors["averaged.steps"] = torch.tensor(self.average.steps)
        for layer, parts in enumerate(self.hidden_state):
            tensors |= {f"state.{layer}.{number}": part for number, part in enumerate(parts)}
        tensors["rng.cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["rng.cuda"] = torch.cuda.get_rng_state(self.device)
        for number, slots in self.optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser.{number}.{name}": torch.as_tensor(value) for name, value in slots.items()}
        return tensors

    def restore(self, tensors: Tensors, position: Position) -> None:
        """Restore everything, random number generators included. Raises `ValueError` for tensors of another model."""
        try:
            self.model.load_state_dict(_part(tensors, "model"))
            self.kept = {name: tensor.to(self.device) for name, tensor in _part(tensors, "best").items()}
            self.average.mean = {name: tensor.to(self.device) for name, tensor in _part(tensors, "average").items()}
            self.average.steps = int(tensors.get("averaged.steps", 0))
            self.hidden_state = _hidden_state(_part(tensors, "state"), like=self.hidden_state)
            slots: dict[int, Tensors] = {}
            for name, tensor in _part(tensors, "optimiser").items():
                number, _, slot = name.partition(".")
                slots.setdefault(int(number), {})[slot] = tensor
            self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": slots})
            torch.set_rng_state(tensors["rng.cpu"])
            if "rng.cuda" in tensors and self.device.type == "cuda":
                torch.cuda.set_rng_state(tensors["rng.cuda"], self.device)
        except (RuntimeError, KeyError) as error:
            raise ValueError(f"not of this model: {error}") from error
        self.position = position


def detached(state: State) -> State:
    """Return the state, detached from the computation graph."""
    return [tuple(part.detach() for part in parts) for parts in state]


def _part(tensors: Tensors, part: str) -> Tensors:
    prefix = f"{part}."
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _hidden_state(tensors: Tensors, like: State) -> State:
    """Rebuild the recurrent state from its tensors, with the layers, parts and devices of `like`."""
    return [
        tuple(tensors[f"{layer}.{number}"].to(part.device) for number, part in enumerate(parts))
        for layer, parts in enumerate(like)
    ]
