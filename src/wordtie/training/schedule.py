"""What changes from epoch to epoch: the learning rate, and when averaging begins.

epoch      lr * decay once for each epoch after `decay_after`: Zaremba et al. (2014) halve it (small) or divide it by
           1.15 (large), inan-2017 multiplies by 0.9 or 0.97
plateau    lr * decay once for each epoch that brought no better validation perplexity: PyTorch's word-level example,
           decay 1 / 4
averaging  Merity, Keskar & Socher (2018), algorithm 1: from the first epoch whose validation perplexity is above the
           best of those more than n epochs before it
"""

from __future__ import annotations

from collections.abc import Sequence

from wordtie.config import TrainingSettings
from wordtie.runs.result import Position, Stopped


def learning_rate(settings: TrainingSettings, epoch: int, history: Sequence[float] = ()) -> float:
    """The rate of an epoch, counted from 1. `history` has the validation perplexity of each epoch before it."""
    drops = without_gain(history) if settings.schedule == "plateau" else max(0, epoch - settings.decay_after)
    return settings.lr * settings.decay**drops


def without_gain(history: Sequence[float]) -> int:
    """How many epochs were not better than all before them."""
    best, count = float("inf"), 0
    for perplexity in history:
        count += perplexity >= best
        best = min(best, perplexity)
    return count


def why_finished(training: TrainingSettings, position: Position) -> Stopped | None:
    """Why nothing more is to be trained; None if something is."""
    if position.epoch > training.epochs:
        return "finished"
    tired = out_of_patience(position.history, training.patience, training.average_patience)
    return "patience" if tired and position.window == 0 else None


def out_of_patience(history: Sequence[float], patience: int, average_patience: int) -> bool:
    """Whether the last `patience` epochs (0: never) were not better than one before them. Where weights are averaged,
    only epochs that measured the mean count.

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
