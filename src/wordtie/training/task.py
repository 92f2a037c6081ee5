"""The seam between the trainer and a kind of model: what is read, what is trained on, what is measured.

The trainer knows windows, epochs, checkpoints and signals. A task knows the text and the model. Language modelling is
one task; translation is another. The trainer never asks which one it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from wordtie.losses.loss import LossSum
from wordtie.models.trainable import TrainableModel
from wordtie.nn.core import State

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Batch:
    """What one step reads."""

    inputs: Any
    targets: Any
    streams: int
    """Sequences side by side: the gradient is that of the summed loss divided by this number."""
    words: int
    """Target words, for the rate that is shown."""


@dataclass(frozen=True)
class Validation:
    """What one validation gave."""

    objective: float
    """What epochs are compared by: a positive number, less is better. A perplexity, or what a BLEU lacks."""
    figures: dict[str, float]
    """Lines of `metrics.jsonl`, by name."""
    diverged: str
    """Why the model is worse than any guess; empty if it is not."""
    summary: str
    """For the person who waits: `validation perplexity 120.31`."""


class Objective(Protocol):
    """What a step descends: a loss of batches, and what is added to its gradient."""

    def forward(self, batch: Batch, state: State) -> tuple[LossSum, State]:
        """The loss of a batch, in nats, and the state to carry over. Noise is drawn here."""

    def add_gradients(self) -> None:
        """Add to the gradients, after the backward pass, what the loss does not have."""


class Task(Protocol):
    """What the trainer needs of a kind of model."""

    @property
    def model(self) -> TrainableModel:
        """What is trained."""

    @property
    def objective(self) -> Objective:
        """What its steps descend."""

    @property
    def batches_per_epoch(self) -> int:
        """How many steps an epoch has."""

    @property
    def tokens_per_epoch(self) -> int:
        """How many target words these have."""

    def initial_state(self) -> State:
        """The state that an epoch starts with."""

    def batches(self, start: int, epoch: int = 1) -> Iterator[Batch]:
        """The batches of an epoch from number `start` on, always in the same order for the same epoch."""

    def tokens_before(self, batch: int, epoch: int = 1) -> int:
        """Target words of the batches of an epoch that come before number `batch`."""

    def prepare_for_training(self) -> None:
        """Choose kernels and precision, and training mode, before the batches of an epoch."""

    def begin_step(self, done: float) -> None:
        """Prepare what changes in the course of a training, of which the share `done` is over."""

    def validate(self) -> Validation:
        """Measure the model as it is now on the validation text."""

    def for_export(self, parameters: Tensors) -> Tensors:
        """The tensors that a run folder gets, from parameters as they are trained."""

    def measure(self, exported: Tensors) -> tuple[dict[str, Any], str]:
        """The figures of the finished run on validation and test text, fields of `TrainingResult`; why they mean
        nothing, or an empty string."""

    def seconds_to_measure(self) -> float:
        """How long `validate` and then `measure` will take, estimated from a short reading."""
