"""Cells and layers that no paper of wordtie's has, in the recipe for two minutes: layer normalisation, summed layer
outputs, and cells whose gates see inputs alone.

    python -m benchmarks.beyond_the_papers             the rows that results/bench/beyond-the-papers.tsv lacks
    python -m benchmarks.beyond_the_papers ptb         of this text

Each is put in the place of the LSTM for one training by `wordtie.train`, with the settings of the ledger's row
`two-minutes/TEXT/recipe`, seed 1. All read two million tokens. The LSTM is first, with one million and four million,
too, and the dropout that `wordtie train --time` plans for so many: `lstm valid` is the validation perplexity that it
has after the same seconds, log-linear between these three, and empty beyond them. Whoever calls the command again,
perhaps on another machine, has the LSTM trained again, for the rows that follow; its rows are those of the last call.
`core` counts the parameters of the core, `parameters` all. The cells of one product have two layers,
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
from wordtie.data.prepare import prepare
from wordtie.models.memory import parameters_of
from wordtie.nn.build import CORES, build_core
from wordtie.nn.core import Core
from wordtie.nn.lstm import LSTM
from wordtie.nn.masks import Dropouts
from wordtie.reproduction.papers.minutes import REFERENCE, TWO_MINUTES
from wordtie.reproduction.papers.registry import ROWS
from wordtie.storage.atomic import write_text
from wordtie.training.recipe import dropout_for
from wordtie.training.trainer import Trainer

WARM_UP = 0.01
"""Of the tokens, how many a first training reads, which is not shown: what is compiled once is compiled there."""
LSTM_BUDGETS = (1.0, 0.5, 2.0)
"""Of the tokens, how many the LSTM reads in its rows."""
USUAL_RATE, HIGHER_RATE = 0.003, 0.006
"""The recipe's, and another one."""
REPLACED = "lstm"
"""The `model.core` in whose place the others are put."""
KEY = ("text", "cell", "layers", "units", "rate")
COLUMNS = (*KEY, "tokens", "core", "parameters", "seconds", "words/s", "valid", "test", "lstm valid")
RESULTS = Path(__file__).parent.parent / "results" / "bench" / "beyond-the-papers.tsv"
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

    def key(self, text: str) -> tuple[str, ...]:
        """The first columns of its row."""
        return text, self.cell, f"{self.layers}", f"{self.units}", f"{self.rate}"

    def settings(self, text: str, tokens: int, dropout: float = 0.0) -> Settings:
        """The recipe of the text."""
        recipe = ROWS[f"{TWO_MINUTES.name}/{text}/{REFERENCE}"]
        usual = recipe.settings().training
        changes = {
            "model.core": REPLACED,
            "model.layers": self.layers,
            "model.hidden": self.units,
            "training.lr": self.rate,
            "training.word_rate": usual.word_rate * usual.lr / self.rate,
            "model.input_dropout": dropout,
            "model.hidden_dropout": dropout,
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


def planned_dropout(text: str, tokens: int) -> float:
    """Of the LSTM, for so many tokens of the text."""
    settings = LSTM_TRIAL.settings(text, tokens)
    prepared = prepare(settings.data)
    words = len(prepared.train)
    parameters = parameters_of(settings, len(prepared.vocabulary))
    return dropout_for(tokens / words, parameters / words)["model.input_dropout"]


def rows(text: str, trials: Sequence[Trial], tokens: int) -> Iterator[tuple[str, ...]]:
    """The rows of one text: of the LSTM, then of these."""

    def trained(trial: Trial, share: float = 1.0) -> Result:
        tell(f"{text}: {trial.cell}, {trial.layers} x {trial.units} units, rate {trial.rate}")
        read = round(share * tokens)
        return train(trial, trial.settings(text, read, planned_dropout(text, read) if trial is LSTM_TRIAL else 0.0))

    def row(trial: Trial, result: Result) -> tuple[str, ...]:
        same = at_the_same_time(result.seconds, of_lstm)
        counts = f"{result.tokens}", f"{result.core}", f"{result.parameters}"
        speed = f"{result.seconds:.1f}", f"{result.tokens / result.seconds:.0f}"
        perplexities = f"{result.valid:.2f}", f"{result.test:.2f}", "" if same is None else f"{same:.2f}"
        return *trial.key(text), *counts, *speed, *perplexities

    trained(LSTM_TRIAL, WARM_UP)
    of_lstm = [trained(LSTM_TRIAL, share) for share in LSTM_BUDGETS]
    for result in of_lstm:
        yield row(LSTM_TRIAL, result)
    for trial in trials:
        yield row(trial, trained(trial))


def kept(path: Path = RESULTS) -> list[tuple[str, ...]]:
    """The rows that are there, without the names of the columns."""
    return [tuple(line.split("\t")) for line in path.read_text().splitlines()[1:]] if path.exists() else []


def main(texts: Sequence[str], path: Path = RESULTS, tokens: int = TWO_MINUTES.tokens) -> None:
    """Add the rows that the file lacks, each when it is measured."""
    for text in texts:
        there = {row[: len(KEY)] for row in kept(path)}
        missing = [trial for trial in TRIALS if trial.key(text) not in there]
        if not missing:
            continue
        for number, row in enumerate(rows(text, missing, tokens)):
            replaced = LSTM_TRIAL.key(text) if number == 0 else None
            others = [each for each in kept(path) if each[: len(KEY)] != replaced]
            write_text(path, "".join("\t".join(each) + "\n" for each in (COLUMNS, *others, row)))


if __name__ == "__main__":
    names = names_given(__doc__) or ["ptb", "sotu"]
    if unknown := set(names) - set(TWO_MINUTES.texts):
        known = ", ".join(TWO_MINUTES.texts)
        raise SystemExit(f"no such text: {', '.join(sorted(unknown))}; the recipe is for {known}")
    main(names)
