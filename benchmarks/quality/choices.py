"""Which settings each contender takes: those that were best on the validation texts of the trials."""

from __future__ import annotations

import contextlib
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.quality.budget import Clock
from benchmarks.quality.contenders import CONTENDERS, Settings
from benchmarks.quality.rows import Row
from benchmarks.quality.texts import TRIAL_TEXTS
from wordtie.errors import WordtieError

TRIAL_MINUTES = 2.0
Way: TypeAlias = tuple[int, int, Clock]
"""(seed, threads, clock): only trials that were measured the same way are compared."""


class UntriedError(WordtieError):
    """A contender has no trials to choose from."""


@dataclass(frozen=True)
class Tried:
    """The validation perplexities of one contender's settings."""

    settings: Settings
    valid: dict[str, float]
    """By text."""
    way: Way

    @property
    def mean(self) -> float:
        """The geometric mean of the texts; infinite while one is missing."""
        if set(self.valid) < set(TRIAL_TEXTS):
            return math.inf
        return math.prod(self.valid[text] for text in TRIAL_TEXTS) ** (1 / len(TRIAL_TEXTS))


def trials(rows: Sequence[Row], contender: str) -> Iterator[Tried]:
    """Of the contender's present program, in the order of its table, those that were measured."""
    code = CONTENDERS[contender].code()
    found: dict[tuple[str, Way], dict[str, float]] = defaultdict(dict)
    for row in rows:
        if row["contender"] == contender and row["code"] == code and row["minutes"] == TRIAL_MINUTES:
            way = row["seed"], row["threads"], row["clock"]
            if row["text"] in TRIAL_TEXTS:
                found[_name(row["settings"]), way][row["text"]] = row["valid"]
    ways = dict.fromkeys(way for _, way in found)
    for way in ways:
        for settings in CONTENDERS[contender].settings:
            if valid := found.get((_name(settings), way)):
                yield Tried(settings, valid, way)


def choose(rows: Sequence[Row], contender: str) -> Settings:
    """The best settings of those tried on both texts, in the way that most were tried in.

    Raises `UntriedError` if there are several settings and no such trial.
    """
    every = CONTENDERS[contender].settings
    if len(every) == 1:
        return every[0]
    whole = [tried for tried in trials(rows, contender) if tried.mean < math.inf]
    if not whole:
        raise UntriedError(f"{contender}: no settings were tried on {' and '.join(TRIAL_TEXTS)} with its present "
                           "program: run `python -m benchmarks.quality_in_minutes trials`")  # fmt: skip
    ways = [tried.way for tried in whole]
    most = max(ways, key=ways.count)
    return min((tried for tried in whole if tried.way == most), key=lambda tried: tried.mean).settings


def way_of_trials(rows: Sequence[Row], contender: str) -> Way | None:
    """How most trials of the contender's present program were measured; None without any."""
    ways = [tried.way for tried in trials(rows, contender)]
    return max(ways, key=ways.count) if ways else None


def with_chosen_settings(rows: Sequence[Row], tried: Sequence[Row] = ()) -> list[Row]:
    """The rows of the settings that each contender takes; none of those that have nothing to choose from yet.

    `tried`: rows with the trials, if they are not among these.
    """
    chosen = {}
    for name in CONTENDERS:
        with contextlib.suppress(UntriedError):
            chosen[name] = _name(choose(tried or rows, name))
    return [row for row in rows if chosen.get(row["contender"]) == _name(row["settings"])]


def _name(settings: Settings) -> str:
    return json.dumps(dict(settings), sort_keys=True)
