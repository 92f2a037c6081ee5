"""Train a recipe until its time is over, with the best model on disk at the end.

The rate follows the share of the time that is over, so the schedule ends when the time does, however fast the machine
is. Validations on the beginning of the validation text take a twentieth of the time at most.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import torch

from benchmarks.quality.budget import Budget
from benchmarks.quality.recipe import Ids, Recipe, Tensors, planned_dropout

VALIDATIONS = 10
SHARE_OF_VALIDATION = 0.05
STREAMS = 10
"""Of the validation text while training."""
PROBED, FEWEST = 1000, 2000
"""Tokens that are scored to see how long it takes; tokens of a validation at least."""
SHARE_TIMED = 0.03
"""Share of the time after which the speed of training is known."""
SECONDS_TO_END = 0.7
"""For what comes after saving."""


@dataclass
class Trained:
    """How a training went."""

    tokens: int = 0
    steps: int = 0
    epochs_planned: float = 0.0
    """How often the text would be read at the speed of the first steps."""
    validated: list[tuple[float, float]] = field(default_factory=list)
    """(share of the time, nats a token) of each validation."""
    kept: float = 0.0
    """Share of the time of the model that was kept."""


class Training:
    """One training of a recipe, within a budget."""

    def __init__(self, recipe: Recipe, train_ids: Ids, valid_ids: Ids, budget: Budget, path: Path) -> None:
        self.recipe, self.train_ids, self.budget, self.path = recipe, train_ids, budget, path
        self.trained = Trained()
        self.best: Tensors = {}
        recipe.set_bias(train_ids)
        recipe.model.train()
        self.end = budget.seconds - SECONDS_TO_END - 1.5 * self._seconds_to_save()
        self.sample, self.seconds_to_validate = self._validation_text(valid_ids)
        self.begun = budget.spent()

    def run(self) -> Trained:
        """Train to the end of the time; the best model of the validations is on disk then."""
        trained, longest, timed = self.trained, 0.0, False
        batches = self.recipe.batches(self.train_ids)
        while True:
            before, share = self.budget.spent(), self.share()
            if before + longest + self.seconds_to_validate >= self.end and trained.steps:
                break
            if share >= (len(trained.validated) + 1) / VALIDATIONS:
                self.validate()
                continue
            if share >= SHARE_TIMED and not timed:
                timed = True
                self.plan_dropout()
            batch = next(batches)
            self.recipe.step(batch, share)
            trained.steps += 1
            trained.tokens += batch.targets.numel()
            longest = max(0.9 * longest, self.budget.spent() - before)
        self.validate()
        save(self.best, self.path)
        return trained

    def share(self) -> float:
        """Of the time, how much is over."""
        return min(1.0, (self.budget.spent() - self.begun) / max(self.end - self.begun, 1e-9))

    def plan_dropout(self) -> None:
        """By how often the text will be read."""
        speed = self.trained.tokens / (self.budget.spent() - self.begun)
        self.trained.epochs_planned = speed * (self.end - self.begun) / len(self.train_ids)
        self.recipe.set_dropout(planned_dropout(self.trained.epochs_planned))

    def validate(self) -> None:
        """Measure on the sample; keep the parameters if they are the best so far."""
        before, share, trained = self.budget.spent(), self.share(), self.trained
        parameters = self.recipe.parameters()
        nats = nats_of(self.recipe, self.sample, parameters)
        if not self.best or nats < min(each for _, each in trained.validated):
            self.best = {name: tensor.clone() for name, tensor in parameters.items()}
            trained.kept = share
        trained.validated.append((round(share, 3), nats))
        self.recipe.validated(nats, share)
        self.seconds_to_validate = max(self.seconds_to_validate, self.budget.spent() - before)

    def _seconds_to_save(self) -> float:
        before = self.budget.spent()
        save(self.recipe.parameters(), self.path)
        return self.budget.spent() - before

    def _validation_text(self, valid_ids: Ids) -> tuple[Ids, float]:
        """As much of the validation text as the time allows, and how long it takes."""
        nats_of(self.recipe, valid_ids[:PROBED], self.recipe.parameters())
        before = self.budget.spent()
        nats_of(self.recipe, valid_ids[:PROBED], self.recipe.parameters())
        each = (self.budget.spent() - before) / min(PROBED, len(valid_ids))
        seconds = SHARE_OF_VALIDATION * (self.end - before) / VALIDATIONS
        sample = valid_ids[: max(FEWEST, int(seconds / max(each, 1e-9)))]
        return sample, each * len(sample)


def nats_of(recipe: Recipe, ids: Ids, parameters: Tensors) -> float:
    """Nats a token with these parameters, over several streams; the model's own are put back."""
    own = recipe.model.state_dict()
    before = {
        name: own[name].clone() for name, tensor in parameters.items() if tensor.data_ptr() != own[name].data_ptr()
    }
    if before:
        recipe.model.load_state_dict(parameters)
    log_p_N = recipe.log_p(ids, min(STREAMS, len(ids)))
    if before:
        recipe.model.load_state_dict(before, strict=False)
    return -float(log_p_N.mean())


def save(parameters: Tensors, path: Path) -> None:
    """Write the parameters, and wait until they are on the disk."""
    with path.open("wb") as file:
        torch.save({name: tensor.contiguous() for name, tensor in parameters.items()}, file)
        file.flush()
        os.fsync(file.fileno())
