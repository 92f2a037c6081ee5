"""Trainings as `wordtie train --time` plans them, but of a given number of tokens, so that nothing depends on speed."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import wordtie
from benchmarks.environment import machine
from wordtie.config import DataSettings, Settings, TrainingSettings
from wordtie.config.keywords import settings_from
from wordtie.config.recommended import recommended
from wordtie.data.prepare import prepare
from wordtie.runs.provenance import code_version
from wordtie.training.plan import fitted_to_length
from wordtie.training.recipe import Lengths, choose
from wordtie.training.timings import Timings

NO_MATTER = Timings(window=0.05, validation=1e-5, measuring=3e-5)
"""Seconds that change nothing: the number of tokens is given."""


def training_on(tokens: int, threads: int | None = None) -> TrainingSettings:
    """On so many tokens, with a rate that falls to zero at their end."""
    return TrainingSettings(tokens=tokens, validations=4, schedule="cosine", patience=0, threads=threads)


def planned(settings: Settings, given: Collection[str]) -> Settings:
    """What is planned for these tokens of this text. `given`: full names of the other settings that are kept."""
    prepared = prepare(settings.data)
    lengths = Lengths(len(prepared.train), 1, 1, len(prepared.vocabulary))
    kept = ("training.tokens", "training.validations", "training.threads", "training.patience", *given)
    return choose(settings, kept, lengths, 1.0, 0.1, NO_MATTER)


def until_no_better(data: DataSettings, given: Mapping[str, Any]) -> Settings:
    """What `wordtie train TEXT` trains without a time. `given`: other settings, by full name."""
    settings = settings_from(Settings(data), **recommended(given), **given)
    return fitted_to_length(settings, ["data.corpus", *given]).settings


def trained_as_planned(
    data: DataSettings, given: Mapping[str, Any], tokens: int, within: AbstractContextManager[None] | None = None
) -> tuple[str, ...]:
    """The last columns of a row: the two perplexities, seconds of one core, version and processor.

    `given`: settings by full name that are kept as they are; `within`: entered while it trains.
    """
    settings = planned(settings_from(Settings(data, training=training_on(tokens, threads=1)), **given), given)
    begun = time.process_time()
    with tempfile.TemporaryDirectory() as folder, within or nullcontext():
        _, *perplexities = trained(settings, Path(folder) / "run")
    return *perplexities, f"{time.process_time() - begun:.0f}", code_version(), machine()["processor"]


def trained(settings: Settings, out: Path) -> tuple[str, str, str]:
    """Epochs, validation perplexity of the network and of its mixture with 5-grams and recent words, to print."""
    result = wordtie.train(settings, out, ngram=5)
    assert result.mixture is not None
    network, mixture = result.valid_perplexity, result.mixture["valid_perplexity"]
    return f"{result.epochs_trained:.1f}", f"{network:.2f}", f"{mixture:.2f}"
