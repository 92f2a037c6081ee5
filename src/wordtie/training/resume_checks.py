"""Check that a checkpoint's tensors and position belong to a run of this task.

Nobody can prove that a checkpoint was never edited. But most of what it holds follows from the rest: the names and
shapes of the tensors, how many steps the optimiser has taken, how many tokens were read before a window.
"""

from __future__ import annotations

import math

import torch

from wordtie.config import AnySettings, Settings, TrainingSettings
from wordtie.models.language_model import WORD_MATRICES
from wordtie.runs.parameters import Shape, check_numbers, check_tensors, shapes
from wordtie.runs.result import Position
from wordtie.training.optim import SLOTS
from wordtie.training.run_state import RunState
from wordtie.training.schedule import Budget, averaging_begins, budget_of, windows_done
from wordtie.training.task import Task, Tensors

LARGEST_STEP = 2**24
"""Largest step count of an optimiser: it is a float32, to which adding 1 changes nothing from here on."""


def check_position(position: Position, settings: TrainingSettings, task: Task) -> None:
    """Compare a position with the task's batches. Raises `ValueError`."""
    windows = task.batches_per_epoch
    if position.window > windows:
        raise ValueError(f"position.window is {position.window}, but an epoch has {windows} windows")
    tokens = task.tokens_before(position.window, position.epoch)
    if position.tokens != tokens:
        raise ValueError(f"position.tokens is {position.tokens}, but {tokens} after {position.window} windows")
    if position.window == 0 and position.nats != 0:
        raise ValueError(f"position.nats is {position.nats} at the start of an epoch")
    _check_history(position, budget_of(settings, windows, task.tokens_per_epoch))


def _check_history(position: Position, budget: Budget) -> None:
    """Raise `ValueError` unless each validation due has a value; the one due after the last window may be missing."""
    done, validated = windows_done(budget, position), len(position.history)
    due = budget.due(done)
    just_due = position.window > 0 and budget.after(due) == done
    ends_epoch = position.window == budget.windows_per_epoch
    if not (validated == due - just_due or (validated == due and not (just_due and ends_epoch))):
        raise ValueError(
            f"position.history has {validated} validations, but {due} are due in epoch {position.epoch} after "
            f"{position.window} windows"
        )


def check_resumable(tensors: Tensors, state: RunState, position: Position, settings: AnySettings, task: Task) -> None:
    """Compare a checkpoint's tensors with those of a fresh `state` at that position. Raises `ValueError`."""
    training = settings.training
    check_position(position, training, task)
    budget = budget_of(training, task.batches_per_epoch, task.tokens_per_epoch)
    taken = windows_done(budget, position)
    finished = range(1, len(position.history) + 1)
    patience = training.average_patience
    begun = next((epoch for epoch in finished if averaging_begins(position.history[:epoch], patience)), None)
    check_tensors(tensors, _expected(tensors, state, position, settings, taken, begun is not None))
    check_numbers(tensors, torch.finfo(torch.float32).max)
    averaged = 0 if begun is None else 1 + taken - budget.after(begun)
    if begun is not None and int(tensors["averaged.steps"]) != averaged:
        raise ValueError(f"averaged.steps is {int(tensors['averaged.steps'])}, not {averaged}")
    for name, tensor in tensors.items():
        slot = name.rpartition(".")[2] if name.startswith("optimiser.") else ""
        if slot == "step" and float(tensor) != min(taken, LARGEST_STEP):
            raise ValueError(f"{name} is {float(tensor):g}, but {taken} steps were taken")
        if slot in ("exp_avg_sq", "square_avg", "acc_delta") and float(tensor.min()) < 0:
            raise ValueError(f"{name} is a mean of squares, and has a negative number")
        if position.window == 0 and name.startswith("state.") and bool(tensor.any()):
            raise ValueError(f"{name} is not zero at the start of an epoch")


def _expected(
    tensors: Tensors, state: RunState, position: Position, settings: AnySettings, taken: int, averages: bool
) -> dict[str, Shape]:
    """Return the shape and dtype of each tensor, under the names that `RunState.tensors` gives them."""
    model = shapes(state.model.state_dict())
    parameters = shapes(dict(state.model.named_parameters()))
    expected = {f"model.{name}": shape for name, shape in model.items()}
    if position.history:
        expected |= {f"best.{name}": shape for name, shape in model.items()}
    if averages:
        expected |= {f"average.{name}": shape for name, shape in parameters.items()}
        expected["averaged.steps"] = ((), torch.int64)
    for layer, parts in enumerate(state.hidden_state):
        expected |= {f"state.{layer}.{name}": shape for name, shape in shapes(_numbered(parts)).items()}
    expected["rng.cpu"] = (tuple(torch.get_rng_state().shape), torch.uint8)
    if "rng.cuda" in tensors:  # whether there is one depends on where the run was, not where it resumes
        expected["rng.cuda"] = ((math.prod(tensors["rng.cuda"].shape),), torch.uint8)
    updates_rows = isinstance(settings, Settings) and settings.has_sparse_updates
    changes = isinstance(settings, Settings) and settings.loss.full_at_end > 0
    names = {id(parameter): name for name, parameter in state.model.named_parameters()}
    ordered = (parameter for group in state.optimiser.param_groups for parameter in group["params"])
    for number, name in enumerate(map(names.__getitem__, map(id, ordered)) if taken else ()):
        has_mean = not (updates_rows and name in WORD_MATRICES)
        for slot in SLOTS[settings.training.optimiser]:
            # row updates have no mean gradient; once the softmax is full, the matrix that scores has one
            if has_mean or slot != "exp_avg" or (changes and f"optimiser.{number}.{slot}" in tensors):
                expected[f"optimiser.{number}.{slot}"] = ((), torch.float32) if slot == "step" else parameters[name]
    return expected


def _numbered(parts: tuple[torch.Tensor, ...]) -> Tensors:
    return {str(number): part for number, part in enumerate(parts)}
