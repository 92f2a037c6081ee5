"""The recurrent product of an LSTM in the processor's tile registers (AMX) and bfloat16, against vectors of float32.

    python -m benchmarks.recurrence                 the rows that results/bench/recurrence.tsv lacks
    python -m benchmarks.recurrence ptb             of this text

All other products of both are in bfloat16. `wordtie bench recurrence-recipe recurrence-medium-real` times a training
step. This program compares what is learnt: each row trains on two million tokens, as `wordtie train --time` plans them,
with one of three seeds. Perplexities are of the validation text: of the network, and of its mixture with 5-grams and
recent words. Seconds are of one core, of the whole command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import cycle, product
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from benchmarks import names_given
from benchmarks.compared import RESULTS, Measured, add_rows
from benchmarks.harness import Claim, Effort, MatrixProbe, Measurement, UnavailableError, compare
from benchmarks.planned import trained_as_planned
from benchmarks.quality.texts import TEXTS
from benchmarks.steps import ROUNDS, Setup, fast_contender, memory_as_in_training, windows_of
from wordtie.config import LossSettings, ModelSettings, TrainingSettings
from wordtie.errors import WordtieError
from wordtie.kernels.backend import tiles_serve
from wordtie.kernels.lstm import layer

TOKENS = 2_000_000
SEEDS = (1, 2, 3)
PRODUCTS = ("float32", "bfloat16")
"""What the operands of the recurrent product are."""
FILE = RESULTS / "recurrence.tsv"
COLUMNS = ("text", "recurrent product", "seed", "network", "mixture", "seconds", "version", "processor")
MISSING = "needs a processor with AMX (Intel, from 2023 on), and numba"

SETUPS = {
    "recipe": Setup(
        ModelSettings(head="tied_linear", hidden=320, embedding=160, layers=1, input_dropout=0.0, hidden_dropout=0.0),
        LossSettings(kind="cross_entropy", softmax="sampled", samples=2000),
        TrainingSettings(optimiser="adam", lr=0.003, clip=32.0, streams=32, steps=32, precision="bf16"),
    ),
    "medium-real": Setup(
        ModelSettings(hidden=650, input_dropout=0.5, hidden_dropout=0.5),
        LossSettings(kind="augmented"),
        TrainingSettings(lr=0.1, precision="bf16"),
    ),
}
STEPS = {
    "recipe": "training step as `wordtie train --time 2m` plans it, 320 units",
    "medium-real": "training step of medium REAL, 650 units",
}


@contextmanager
def in_float32() -> Iterator[None]:
    """While it is entered, no tiles are used."""
    with mock.patch.object(layer, "tiles_serve", return_value=False):
        yield


def without_tiles(step: Callable[[], object]) -> object:
    """The step with its recurrent product in float32."""
    with in_float32():
        return step()


def measure_step(name: str, effort: Effort) -> Measurement:
    """One step, whose recurrent product is of either kind in turn. Raises `UnavailableError`."""
    if not tiles_serve():
        raise UnavailableError(MISSING)
    setup = SETUPS[name]
    step = fast_contender(setup, cycle(windows_of(setup)))
    with memory_as_in_training():
        return compare(
            alternative=partial(without_tiles, step),
            ours=step,
            multiply_adds=None,
            probe=MatrixProbe(torch.bfloat16),
            rounds=effort.rounds if effort.quick else ROUNDS * effort.rounds,
        )


CLAIMS = tuple(
    Claim(
        f"recurrence-{name}",
        f"{STEPS[name]}, recurrent product by AMX in bf16, against fp32",
        None,
        partial(measure_step, name),
    )
    for name in SETUPS
)


def main(texts: Sequence[str], file: Path = FILE, tokens: int = TOKENS) -> None:
    """Measure the rows of these texts, of all if there are none, that the file lacks; each is added when done."""
    rows: dict[tuple[str, ...], Measured] = {
        (text, operands, f"{seed}"): partial(measure, text, operands, seed, tokens)
        for text, seed, operands in product(texts or ("ptb", "sotu"), SEEDS, PRODUCTS)
    }
    add_rows(file, COLUMNS, rows)


def measure(text: str, operands: str, seed: int, tokens: int) -> tuple[str, ...]:
    """A row of the table. Raises `WordtieError` without tiles."""
    if not tiles_serve():
        raise WordtieError(f"benchmarks.recurrence {MISSING}")
    given: dict[str, Any] = {"training.precision": "bf16", "training.seed": seed}
    within = in_float32() if operands == "float32" else None
    return text, operands, f"{seed}", *trained_as_planned(TEXTS[text](), given, tokens, within)


if __name__ == "__main__":
    main(names_given(__doc__))
