"""The time for a planned run: what it is spent on besides training steps, and the settings that fit into the rest.

A `Stopwatch` times models; a `TimeBudget` chooses settings by these timings.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

from wordtie.config import Settings
from wordtie.config.keywords import settings_from
from wordtie.data.token_file import PreparedData
from wordtie.errors import SettingsError
from wordtie.models.memory import check_size
from wordtie.training.precision import resolve_device
from wordtie.training.recipe import (
    LARGEST,
    READ_AGAIN,
    Lengths,
    choose,
    larger,
    measured_tokens,
    measuring_seconds,
)
from wordtie.training.rehearsal import Texts
from wordtie.training.retention import tokens_to_read
from wordtie.training.timings import Counting, Timings, time_model

SHARE_OF_MEASURING = 0.07
"""Share of the time for validation and the final figures: of long texts, only a part is measured."""
SECONDS_OF_TIMING, SHARE_OF_TIMING = 2.0, 1 / 12
"""Most seconds, and most of the time for planning as a share, in which the steps of one model are timed."""
SECONDS_TO_END = 2.0
"""Seconds to write the model and to exit."""


def step_of(settings: Settings) -> tuple[object, ...]:
    """Return those settings, of all that a plan chooses, that determine how long a step takes."""
    model, training = settings.model, settings.training
    dropped = model.input_dropout > 0, model.hidden_dropout > 0
    return model.hidden, *dropped, training.streams, settings.noise.kind


class Stopwatch:
    """Times models of the recipe on a text, for about `most` seconds in all.

    `mixed`: n-grams and recent words will be mixed in.
    """

    def __init__(self, data: PreparedData, most: float, *, mixed: bool) -> None:
        self.data, self.most, self.mixed = data, most, mixed
        self.started = time.monotonic()
        self.first = self.compiling = 0.0
        """Seconds that the first timing took, those for compiling apart: another takes as long. A run in which kernels
        are already compiled times the same models."""

    def has_time(self) -> bool:
        """Whether there is time for another timing."""
        return self._spent() + self.first <= self.most

    def can_time(self, candidate: Settings) -> bool:
        """Whether there is time for another timing, and memory for a model with these settings."""
        try:
            check_size(candidate, len(self.data.vocabulary), resolve_device(candidate.training.device))
        except SettingsError:
            return False
        return self.has_time()

    def time(self, candidate: Settings) -> Timings:
        """Time a model with these settings. Raises `SettingsError` if there is not enough memory for it."""
        check_size(candidate, len(self.data.vocabulary), resolve_device(candidate.training.device))
        seconds = min(SECONDS_OF_TIMING, SHARE_OF_TIMING * self.most)
        timings = time_model(candidate, self.data, seconds, mixed=self.mixed)
        if not self.first:
            self.compiling = timings.compiling
            self.first = self._spent()
        return timings

    def _spent(self) -> float:
        return time.monotonic() - self.started - self.compiling


def lengths_of(texts: Texts, data: PreparedData) -> Lengths:
    """Return the lengths of the texts: `data` is what is trained on, rehearsed texts included."""
    earlier = tuple(len(each.test) for each in texts.earlier)
    return Lengths(len(data.train), len(data.valid), len(data.test), len(data.vocabulary), earlier)


@dataclass(frozen=True)
class TimeBudget:
    """The time for a run, and what it is spent on besides training steps."""

    seconds: float
    started: float
    """When the time began, on the monotonic clock."""
    texts: Texts
    lengths: Lengths
    counting: Counting

    @property
    def measuring(self) -> float:
        """Seconds for validation and the final figures."""
        return SHARE_OF_MEASURING * self.seconds

    def best(
        self,
        settings: Settings,
        given: Collection[str],
        reference: Settings,
        timings: Timings,
        stopwatch: Stopwatch,
    ) -> tuple[Settings, Timings]:
        """Choose settings by the timings of the `reference`; then time these, and a larger model, if there is time."""
        chosen = self.choose(settings, given, timings)
        if step_of(chosen) != step_of(reference):
            if stopwatch.can_time(chosen):
                timings = stopwatch.time(chosen)
                chosen = self.choose(settings, given, timings, chosen.model.hidden, chosen.training.streams)
            else:
                chosen = self.choose(settings, given, timings, reference.model.hidden)
        if (candidate := larger(chosen, given, self.lengths.train)) and stopwatch.can_time(candidate):
            of_larger = stopwatch.time(candidate)
            candidate = self.choose(settings, given, of_larger, LARGEST, chosen.training.streams)
            if candidate.training.tokens == chosen.training.tokens:
                return candidate, of_larger
        return chosen, timings

    def choose(
        self,
        settings: Settings,
        given: Collection[str],
        timings: Timings,
        hidden: int | None = None,
        streams: int | None = None,
    ) -> Settings:
        """Choose settings for what is left of the time. `hidden`, `streams`: those of the timed model, to be kept."""
        fixed = {} if streams is None else {"training.streams": streams}
        settings = settings_from(settings, **fixed)
        spent = time.monotonic() - self.started
        left = self.seconds - self.besides_network(settings, timings) - SECONDS_TO_END - spent
        return choose(settings, {*given, *fixed}, self.lengths, left, self.measuring, timings, hidden)

    def besides_network(self, settings: Settings, timings: Timings) -> float:
        """Return the seconds to count n-grams, to mix them and recent words in, and to read texts of earlier runs
        again: to measure them, and to limit how much of them is forgotten."""
        training, texts = settings.training, self.texts
        measured = training.measured_tokens or measured_tokens(self.lengths, self.measuring, timings)
        valid, test = (min(length, measured or length) for length in (self.lengths.valid, self.lengths.test))
        weighed = sum(map(len, texts.for_weights(training.rehearsal, valid)))
        earlier = sum(len(each.test) for each in texts.within(measured).earlier)
        by_network = (2 * weighed + READ_AGAIN * earlier) * timings.measuring  # scores and queries; see `READ_AGAIN`
        by_network += tokens_to_read(settings, texts.earlier) * timings.validation
        counting = self.counting
        return counting.fitting + (valid + test + weighed) * counting.reading + timings.remembering + by_network

    def besides_training(self, settings: Settings, timings: Timings) -> float:
        """Return the seconds that a run takes besides its training steps."""
        once, at_the_end = measuring_seconds(self.lengths, settings.training.measured_tokens, timings)
        validations = settings.training.validations or 1
        validating = (validations - 1) * (once + timings.saving) + at_the_end + timings.saving
        return validating + self.besides_network(settings, timings) + SECONDS_TO_END
