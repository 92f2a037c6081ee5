"""The process of a recipe: read the text, train, save.

    python -m benchmarks.quality.worker JOB.json

It writes `model.pt` and, beside it, `trained.json`: how the training went, and when the model was on the disk.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.quality.budget import Budget, Clock
from benchmarks.quality.contenders import CONTENDERS
from benchmarks.quality.recipe import Recipe
from benchmarks.quality.training import Training
from wordtie.config import DataSettings
from wordtie.data.prepare import prepare
from wordtie.training.process import keep_freed_memory

MODEL, TRAINED = "model.pt", "trained.json"


@dataclass(frozen=True)
class Job:
    """What a process is to do."""

    contender: str
    settings: dict[str, Any]
    data: dict[str, Any]
    """The data settings."""
    minutes: float
    """That the settings are planned for."""
    seconds: float
    clock: Clock
    started: float
    """Of the process that waits for this one, by the same clock; 0 for the process's own seconds."""
    seed: int
    threads: int
    folder: str

    def recipe(self, words: int, eos_id: int) -> Recipe:
        """Untrained."""
        make = CONTENDERS[self.contender].recipe
        assert make is not None
        torch.manual_seed(self.seed)
        return make(words, eos_id, self.minutes, **self.settings)

    def data_settings(self) -> DataSettings:
        """The text."""
        return DataSettings(**{**self.data, "split": tuple(self.data["split"])})


def run(job: Job) -> None:
    """Train within the time."""
    keep_freed_memory()  # as `wordtie train` does
    torch.set_num_threads(job.threads)
    budget = Budget(job.seconds, job.clock, job.started)
    data = prepare(job.data_settings())
    recipe = job.recipe(len(data.vocabulary), data.vocabulary.eos_id)
    folder = Path(job.folder)
    trained = Training(recipe, data.train, data.valid, budget, folder / MODEL).run()
    parameters = sum(each.numel() for each in recipe.model.parameters())
    told = {**asdict(trained), "parameters": parameters, "seconds": budget.spent(), "cut": recipe_sizes(recipe)}
    (folder / TRAINED).write_text(json.dumps(told))


def recipe_sizes(recipe: Recipe) -> list[int]:
    """Of the word matrix."""
    return list(recipe.parameters()["embedding.weight"].shape)


if __name__ == "__main__":
    run(Job(**json.loads(Path(sys.argv[1]).read_text())))
