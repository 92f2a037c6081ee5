"""The schedule of a training: its learning rate, when the model is validated, when averaging begins.

epoch      lr * decay once for each epoch after `decay_after`: Zaremba et al. (2014) halve it (small) or divide it by
           1.15 (large), inan-2017 multiplies by 0.9 or 0.97
plateau    lr * decay once for each epoch that brought no better validation perplexity: PyTorch's word-level example,
           decay 1 / 4
cosine     lr * (1 + cos(pi * share done)) / 2, from step to step (Loshchilov & Hutter 2017, without restarts)
warmup     the first steps have 1 / n, 2 / n, ... of the rate
averaging  Merity, Keskar & Socher (2018), algorithm 1: from the first epoch whose validation perplexity is above the
           best of those more than n epochs before it
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from wordtie.config import TrainingSettings
from wordtie.console import amount
from wordtie.runs.result import Position, Stopped


@dataclass(frozen=True)
class Budget:
    """The number of windows of a training, and those after which the model is validated.

    It follows from settings and text alone, so that it is the same when a run resumes.
    """

    windows: int
    """Windows over all epochs; the last epoch may end before the text does."""
    windows_per_epoch: int
    validations: int | None = None
    """Number of validations, evenly spread; None: one after each epoch and after the last window."""

    @property
    def epochs(self) -> float:
        """Number of passes over the text, as a fraction."""
        return self.windows / self.windows_per_epoch

    @property
    def measurements(self) -> int:
        """Number of validations; there is at least one step between two of them."""
        return min(self.validations or math.ceil(self.epochs), self.windows)

    def after(self, number: int) -> int:
        """Return the number of windows after which validation `number`, from 1, takes place; 0 is the start.

        >>> budget = Budget(windows=250, windows_per_epoch=100)
        >>> [budget.after(number) for number in range(budget.measurements + 1)]
        [0, 100, 200, 250]
        """
        if self.validations is None:
            end = number * self.windows_per_epoch
            return self.windows if end - self.windows_per_epoch < self.windows < end else end
        return -(-number * self.windows // self.measurements)

    def due(self, windows: int) -> int:
        """Return the number of validations that are due after this many windows.

        >>> budget = Budget(windows=10, windows_per_epoch=100, validations=3)
        >>> [budget.after(number) for number in (1, 2, 3)], [budget.due(windows) for windows in (3, 4, 9, 10)]
        ([4, 7, 10], [0, 1, 2, 3])
        """
        if self.validations is None:
            return windows // self.windows_per_epoch + (
                windows == self.windows and windows % self.windows_per_epoch > 0
            )
        return windows * self.measurements // self.windows


def budget_of(training: TrainingSettings, windows_per_epoch: int, tokens_per_epoch: int) -> Budget:
    """Compute the budget of a training from `training.tokens`, rounded up to whole windows, or else from
    `training.epochs`.

    >>> budget_of(TrainingSettings(tokens=1500), windows_per_epoch=10, tokens_per_epoch=1000).windows
    15
    >>> budget = budget_of(TrainingSettings(epochs=5, validations=2), windows_per_epoch=10, tokens_per_epoch=1000)
    >>> [budget.after(number) for number in (1, 2)]
    [25, 50]
    """
    if training.tokens is None:
        return Budget(training.epochs * windows_per_epoch, windows_per_epoch, training.validations)
    windows = -(-training.tokens * windows_per_epoch // tokens_per_epoch)
    return Budget(windows, windows_per_epoch, training.validations)


def rate_of_step(settings: TrainingSettings, budget: Budget, position: Position, step: int) -> float:
    """Return the learning rate of a step, counted from 0 over all epochs: of the one before the position, or after it.

    It depends on nothing but the arguments, so that it is the same when a run resumes.
    """
    warm = min(1.0, (step + 1) / settings.warmup) if settings.warmup else 1.0
    if settings.schedule == "cosine":
        return settings.lr * warm * (1 + math.cos(math.pi * step / budget.windows)) / 2
    return learning_rate(settings, position.epoch, position.history) * warm


def never_reached(settings: TrainingSettings, budget: Budget) -> list[str]:
    """Return a note for each setting whose effect begins after the end of the training, or with its last step.

    >>> budget = Budget(windows=250, windows_per_epoch=100)
    >>> [never_reached(TrainingSettings(lr=1.0, warmup=steps), budget) for steps in (250, 300)]
    [[], ['training.warmup 300: training has 250 steps, so that its rate never reaches training.lr 1']]
    """
    notes = []
    if settings.warmup > budget.windows:
        steps = f"training has {amount(budget.windows, 'step')}"
        notes.append(
            f"training.warmup {settings.warmup}: {steps}, so that its rate never reaches training.lr {settings.lr:g}"
        )
    if settings.average_patience and budget.measurements < settings.average_patience + 3:
        validated = f"training has {amount(budget.measurements, 'validation')}"
        notes.append(
            f"training.average_patience {settings.average_patience}: {validated}, and averaging begins after "
            f"{settings.average_patience + 2} or more: no weights are averaged"
        )
    return notes


def windows_done(budget: Budget, position: Position) -> int:
    """Return the number of windows trained on so far, over all epochs."""
    return (position.epoch - 1) * budget.windows_per_epoch + position.window


def learning_rate(settings: TrainingSettings, epoch: int, history: Sequence[float] = ()) -> float:
    """Return the learning rate of an epoch, counted from 1, by the schedules `epoch` and `plateau`.

    `history` has the validation perplexity of each epoch before it.
    """
    drops = without_gain(history) if settings.schedule == "plateau" else max(0, epoch - settings.decay_after)
    return settings.lr * settings.decay**drops


def without_gain(history: Sequence[float]) -> int:
    """Count the epochs that were not better than all before them."""
    best, count = float("inf"), 0
    for perplexity in history:
        count += perplexity >= best
        best = min(best, perplexity)
    return count


def why_finished(training: TrainingSettings, budget: Budget, position: Position) -> Stopped | None:
    """Return why training is finished; None if it is not."""
    if len(position.history) >= budget.measurements:
        return "finished"
    tired = out_of_patience(position.history, training.patience, training.average_patience)
    return "patience" if tired and is_validated(budget, position) else None


def is_validated(budget: Budget, position: Position) -> bool:
    """Whether nothing was trained since the last validation, or since the start."""
    return windows_done(budget, position) == budget.after(len(position.history))


def out_of_patience(history: Sequence[float], patience: int, average_patience: int) -> bool:
    """Whether none of the last `patience` epochs was better than the best before them (0: never). Where weights are
    averaged, only epochs that measured the mean count.

    >>> [out_of_patience([9.0, 7.0, 8.0, 8.0], patience, average_patience=0) for patience in (0, 2, 3)]
    [False, True, False]
    """
    best = history.index(min(history)) + 1 if history else 0
    if average_patience:
        begun = (epoch for epoch in range(1, len(history) + 1) if averaging_begins(history[:epoch], average_patience))
        best = max(best, next(begun, len(history)))
    return 0 < patience <= len(history) - best


def averaging_begins(history: Sequence[float], patience: int) -> bool:
    """Whether the last epoch is worse than the best of those more than `patience` epochs before it (0: never).

    >>> averaging_begins([9.0, 8.0, 7.0], 1), averaging_begins([7.0, 7.5, 7.2], 1)
    (False, True)
    """
    return 0 < patience < len(history) - 1 and history[-1] > min(history[: -patience - 1])
