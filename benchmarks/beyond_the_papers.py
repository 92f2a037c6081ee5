"""Cells and layers that no paper of wordtie's has, in the recipe for two minutes: layer normalisation, summed layer
outputs, and cells whose gates see inputs alone.

    python -m benchmarks.beyond_the_papers ptb sotu > results/bench/beyond-the-papers.tsv

Each is put in the place of the LSTM for one training by `wordtie.train`, with the settings of the ledger's row
`two-minutes/TEXT/recipe`, seed 1. All read two million tokens. The LSTM is first, with one million and four million,
too: `lstm valid` is the validation perplexity that it has after the same seconds, log-linear between these three, and
empty beyond them. `core` counts the parameters of the core, `parameters` all. The cells of one product have two layers,
together as large as the LSTM's one, and so have two LSTM layers of 160 units.

Seconds are of one core, of training alone, so that other work on the machine changes them little. Products are in
float32: only the LSTM's fast twin could round them to bfloat16. That twin is compiled; the others are PyTorch. The
second rate of a cell is of its core, head and biases; that of the words stays.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

import wordtie
from benchmarks import names_given
from benchmarks.cells_tried.normalised import NormalisedLSTM, OutputNormalisedLSTM
from benchmarks.cells_tried.one_product import MinGRULayer, OneProduct, PositiveMinGRULayer, QRNNLayer, SRULayer
from benchmarks.cells_tried.summed import SummedLSTM, SummedOneProduct
from wordtie.config import ModelSettings, Settings
from wordtie.console import tell
from wordtie.nn.build import CORES, build_core
from wordtie.nn.core import Core
from wordtie.nn.lstm import LSTM
from wordtie.nn.masks import Dropouts
from wordtie.reproduction.papers.two_minutes import GROUP, REFERENCE, ROWS, TEXTS, TOKENS
from wordtie.training.trainer import Trainer

WARM_UP = 0.01
"""Of the tokens, how many a first training reads, which is not shown: what is compiled once is compiled there."""
LSTM_BUDGETS = (1.0, 0.5, 2.0)
"""Of the tokens, how many the LSTM reads in its rows."""
USUAL_RATE, HIGHER_RATE = 0.003, 0.006
"""The recipe's, and another one."""
REPLACED = "lstm"
"""The `model.core` in whose place the others are put."""
COLUMNS = ("text", "cell", "layers", "units", "rate", "tokens", "core", "parameters", "seconds", "words/s", "valid",
           "test", "lstm valid")  # fmt: skip
Builder = Callable[[ModelSettings, Dropouts], Core]
OneProductKind = type[QRNNLayer] | type[MinGRULayer] | type[SRULayer]


def lstm_like(kind: type[LSTM] | type[NormalisedLSTM], settings: ModelSettings, dropouts: Dropouts) -> Core:
    """An LSTM or what is built from the same numbers."""
    return kind(settings.embedding_size, settings.hidden, settings.layers, dropouts, settings.forget_bias)


def one_product(
    core: type[OneProduct], layer: OneProductKind, settings: ModelSettings, dropouts: Dropouts
) -> OneProduct:
    """As many layers of a kind as the settings ask for."""
    sizes = [settings.embedding_size, *[settings.hidden] * (settings.layers - 1)]
    return core((layer(size, settings.hidden, settings.forget_bias) for size in sizes), dropouts)


@dataclass(frozen=True)
class Trial:
    """One cell, its size and its rate."""

    cell: str
    build: Builder
    layers: int = 1
    units: int = 256
    rate: float = USUAL_RATE

    def settings(self, text: str, tokens: int) -> Settings:
        """The recipe of the text."""
        recipe = ROWS[f"{GROUP}/{text}/{REFERENCE}"]
        usual = recipe.settings().training
        changes = {
            "model.core": REPLACED,
            "model.layers": self.layers,
            "model.hidden": self.units,
            "training.lr": self.rate,
            "training.word_rate": usual.word_rate * usual.lr / self.rate,
            "training.tokens": tokens,
            "training.threads": 1,
            "training.precision": "fp32",
        }
        return recipe.settings(1, changes)


LSTM_TRIAL = Trial("LSTM", partial(lstm_like, LSTM))
_SUMMED, _OUTPUTS, _WITHIN = (partial(lstm_like, kind) for kind in (SummedLSTM, OutputNormalisedLSTM, NormalisedLSTM))


def _of_one_product(cell: str, layer: OneProductKind, units: int) -> tuple[Trial, ...]:
    plain = Trial(cell, partial(one_product, OneProduct, layer), 2, units)
    summed = Trial(f"{cell}, layers summed", partial(one_product, SummedOneProduct, layer), 2, units)
    return plain, summed, replace(summed, rate=HIGHER_RATE)


TRIALS = (
    replace(LSTM_TRIAL, rate=HIGHER_RATE),
    replace(LSTM_TRIAL, layers=2),
    Trial("LSTM, layers summed", _SUMMED, 2),
    Trial("LSTM, layers summed", _SUMMED, 2, 160),
    Trial("LSTM, layers summed", _SUMMED, 2, 160, HIGHER_RATE),
    Trial("LSTM, outputs normalised", _OUTPUTS),
    Trial("LSTM, outputs normalised", _OUTPUTS, rate=HIGHER_RATE),
    Trial("LSTM, normalised within", _WITHIN),
    Trial("LSTM, normalised within", _WITHIN, rate=HIGHER_RATE),
    *_of_one_product("QRNN", QRNNLayer, 200),
    *_of_one_product("minGRU", MinGRULayer, 384),
    Trial("minGRU, positive, layers summed", partial(one_product, SummedOneProduct, PositiveMinGRULayer), 2, 384),
    *_of_one_product("SRU", SRULayer, 288),
)


@dataclass(frozen=True)
class Result:
    """What one training gave."""

    tokens: int
    core: int
    """Parameters of the core."""
    parameters: int
    seconds: float
    """Of one core, without validation and measuring."""
    valid: float
    test: float


@contextmanager
def core_replaced(build: Builder) -> Iterator[None]:
    """`build` in the place of `model.core lstm`; afterwards as it was."""
    before = CORES[REPLACED]
    CORES[REPLACED] = build
    try:
        yield
    finally:
        CORES[REPLACED] = before


@contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    """Gives the seconds of one core that trainings spent between validations since here."""
    seconds, before = 0.0, Trainer.train_until

    def timed(self: Trainer, end: int) -> bool:
        nonlocal seconds
        started = time.process_time()
        try:
            return before(self, end)
        finally:
            seconds += time.process_time() - started

    Trainer.train_until = timed  # type: ignore[method-assign]
    try:
        yield lambda: seconds
    finally:
        Trainer.train_until = before  # type: ignore[method-assign]


def train(trial: Trial, settings: Settings) -> Result:
    """By the product's own trainer, in a folder that is then removed."""
    with core_replaced(trial.build), tempfile.TemporaryDirectory() as folder, stopwatch() as seconds:
        with torch.device("meta"):
            core = sum(parameter.numel() for parameter in build_core(settings.model).parameters())
        result = wordtie.train(settings, Path(folder) / "run")
        assert result.tokens_seen is not None
        figures = result.valid_perplexity, result.test_perplexity
        return Result(result.tokens_seen, core, result.parameters, seconds(), *figures)


def at_the_same_time(seconds: float, of_lstm: Sequence[Result]) -> float | None:
    """The LSTM's validation perplexity after so many seconds; None if it took less or more than any of its trainings.

    >>> at = [Result(0, 0, 0, seconds, valid, 0.0) for seconds, valid in ((50.0, 200.0), (100.0, 100.0))]
    >>> round(at_the_same_time(70.710678, at)), at_the_same_time(101.0, at)
    (141, None)
    """
    known = sorted(of_lstm, key=lambda result: result.seconds)
    if not known[0].seconds <= seconds <= known[-1].seconds:
        return None
    at = np.interp(np.log(seconds), [np.log(each.seconds) for each in known], [np.log(each.valid) for each in known])
    return float(np.exp(at))


def rows(text: str, tokens: int = TOKENS, trials: Sequence[Trial] = TRIALS) -> Iterator[tuple[str, ...]]:
    """The rows of one text."""

    def trained(trial: Trial, share: float = 1.0) -> Result:
        tell(f"{text}: {trial.cell}, {trial.layers} x {trial.units} units, rate {trial.rate}")
        return train(trial, trial.settings(text, round(share * tokens)))

    def row(trial: Trial, result: Result) -> tuple[str, ...]:
        same = at_the_same_time(result.seconds, of_lstm)
        shape = f"{trial.layers}", f"{trial.units}", f"{trial.rate}"
        counts = f"{result.tokens}", f"{result.core}", f"{result.parameters}"
        speed = f"{result.seconds:.1f}", f"{result.tokens / result.seconds:.0f}"
        perplexities = f"{result.valid:.2f}", f"{result.test:.2f}", "" if same is None else f"{same:.2f}"
        return text, trial.cell, *shape, *counts, *speed, *perplexities

    trained(LSTM_TRIAL, WARM_UP)
    of_lstm = [trained(LSTM_TRIAL, share) for share in LSTM_BUDGETS]
    for result in of_lstm:
        yield row(LSTM_TRIAL, result)
    for trial in trials:
        yield row(trial, trained(trial))


def main(texts: Sequence[str]) -> None:
    """Print a row for each training."""
    print(*COLUMNS, sep="\t", flush=True)
    for text in texts:
        for row in rows(text):
            print(*row, sep="\t", flush=True)


if __name__ == "__main__":
    names = names_given(__doc__) or ["ptb", "sotu"]
    if unknown := set(names) - set(TEXTS):
        raise SystemExit(f"no such text: {', '.join(sorted(unknown))}; the recipe is for {', '.join(TEXTS)}")
    main(names)
