"""Whether the mean of the last weights predicts better than the last ones, under the schedule of a plan.

    python -m benchmarks.averaging                  the texts that results/bench/averaging.tsv lacks
    python -m benchmarks.averaging ptb              this text

Each text is trained on two million tokens, as `wordtie train --time` plans them; the rate falls to zero by a cosine.
The mean is over the last tenth, fifth or two fifths of the steps of this training. Perplexities are of the validation
text, of the network alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from torch import Tensor

import wordtie
from benchmarks import names_given
from benchmarks.compared import RESULTS, add_rows
from benchmarks.environment import machine
from benchmarks.planned import planned, training_on
from benchmarks.quality.texts import TEXTS
from wordtie.config import Settings
from wordtie.data.prepare import prepare
from wordtie.evaluation.perplexity import evaluate
from wordtie.runs.provenance import code_version
from wordtie.training import trainer
from wordtie.training.run_state import RunState
from wordtie.training.step import train_step

TOKENS = 2_000_000
SHARES = (0.1, 0.2, 0.4)
"""Last parts of the training."""
FILE = RESULTS / "averaging.tsv"
COLUMNS = ("text", "tokens", "last", *(f"mean of {share:g}" for share in SHARES), "version", "processor")


class Means:
    """Means of a model's parameters over the last parts of `steps` steps."""

    def __init__(self, steps: int) -> None:
        self.steps, self.done = steps, 0
        self.sums: dict[float, dict[str, Tensor]] = {}
        self.counts = dict.fromkeys(SHARES, 0)

    def add(self, state: RunState) -> None:
        """Count one more step, after it was taken."""
        self.done += 1
        for share in SHARES:
            if self.done > (1 - share) * self.steps:
                self.counts[share] += 1
                sums = self.sums.setdefault(share, {})
                for name, parameter in state.model.named_parameters():
                    if name in sums:
                        sums[name] += parameter.detach()
                    else:
                        sums[name] = parameter.detach().clone()

    def of(self, share: float) -> dict[str, Tensor]:
        """Return the parameters by name."""
        return {name: each / self.counts[share] for name, each in self.sums[share].items()}


@contextmanager
def recorded(steps: int) -> Iterator[Means]:
    """While it is entered, every training step is added."""
    means = Means(steps)

    def step(objective: object, state: RunState, *rest: object) -> bool:
        taken: bool = train_step(objective, state, *rest)  # type: ignore[arg-type]
        means.add(state)
        return taken

    with mock.patch.object(trainer, "train_step", step):
        yield means


def measure(text: str, tokens: int = TOKENS) -> tuple[str, ...]:
    """A row of the table."""
    settings = planned(Settings(TEXTS[text](), training=training_on(tokens, threads=1)), [])
    steps = tokens // (settings.training.streams * settings.training.steps)
    with tempfile.TemporaryDirectory() as folder, recorded(steps) as means:
        wordtie.train(settings, Path(folder) / "run")
        model = wordtie.load(Path(folder) / "run").network
    data = prepare(settings.data)
    valid = np.asarray(data.valid)

    def perplexity() -> str:
        return f"{evaluate(model, valid, data.vocabulary.eos_id).perplexity:.2f}"

    found = [perplexity()]
    for share in SHARES:
        with torch.no_grad():
            model.load_state_dict(means.of(share), strict=False)
        found.append(perplexity())
    return text, f"{tokens}", *found, code_version(), machine()["processor"]


def main(texts: Sequence[str], file: Path = FILE) -> None:
    """Measure these texts, three if there are none, unless the file has them."""
    add_rows(file, COLUMNS, {(text,): partial(measure, text) for text in texts or ("ptb", "sotu", "wikitext-2")})


if __name__ == "__main__":
    main(names_given(__doc__))
