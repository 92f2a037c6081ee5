"""The seam between the trainer and a kind of model: what is read, what is trained on, what is measured.

The trainer knows windows, epochs, checkpoints and signals. A task knows the text and the model. Language modelling is
one task; translation is another. The trainer never asks which one it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
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
    """Sequences read in parallel: the gradient is that of the summed loss divided by this number."""
    words: int
    """Target words, for the words per second that are shown."""


@dataclass(frozen=True)
class Validation:
    """The outcome of one validation."""

    objective: float
    """Positive number by which validations are compared; lower is better. A perplexity, or a bound minus BLEU."""
    figures: dict[str, float]
    """Figures for a line of `metrics.jsonl`, by name."""
    diverged: str
    """Why the training has diverged; empty if it has not."""
    summary: str
    """Line for the user, such as `validation perplexity 120.31`."""


@dataclass(frozen=True)
class Finished:
    """A finished model."""

    tensors: Tensors
    figures: dict[str, Any] = field(default_factory=dict)
    """Fields of `TrainingResult` that say how it was made from what was trained."""
    note: str = ""
    """What the user should know of it; usually nothing."""


class Objective(Protocol):
    """What a training step minimises: the loss of a batch, and terms that are added to its gradient."""

    def forward(self, batch: Batch, state: State) -> tuple[LossSum, State]:
        """Compute the loss of a batch, in nats, and the state to carry over. Noise is drawn here."""

    def add_gradients(self) -> None:
        """Add to the gradients, after the backward pass, those of terms that the loss does not have."""


class Task(Protocol):
    """What the trainer needs of a kind of model."""

    @property
    def model(self) -> TrainableModel:
        """Model to train."""

    @property
    def objective(self) -> Objective:
        """Objective that a training step minimises."""

    @property
    def batches_per_epoch(self) -> int:
        """Number of training steps in an epoch."""

    @property
    def tokens_per_epoch(self) -> int:
        """Number of target words in an epoch."""

    def initial_state(self) -> State:
        """Return the state that an epoch starts with."""

    def batches(self, start: int, epoch: int = 1) -> Iterator[Batch]:
        """Yield the batches of an epoch from number `start` on, always in the same order for the same epoch."""

    def tokens_before(self, batch: int, epoch: int = 1) -> int:
        """Count the target words of the batches of an epoch that come before number `batch`."""

    def prepare_for_training(self) -> None:
        """Choose kernels and precision, and set training mode, before the batches of an epoch."""

    def begin_step(self, done: float) -> None:
        """Prepare what changes in the course of a training, of which the share `done` (0 to 1) is over."""

    def validate(self) -> Validation:
        """Measure the model as it is now on the validation text."""

    def for_export(self, parameters: Tensors) -> Tensors:
        """Return the tensors to store in the run folder, from parameters as they are trained."""

    def finished(self, exported: Tensors) -> Finished:
        """Return the finished model, from the tensors that training chose."""

    def measure(self, exported: Tensors) -> tuple[dict[str, Any], str]:
        """Measure the finished model on validation and test text. Returns fields of `TrainingResult`, and why they mean
        nothing, or an empty string."""

    def seconds_to_measure(self) -> float:
        """Estimate the seconds that `validate` and then `measure` will take, from a short reading."""
