"""A recipe that fits itself to text, machine and time: `wordtie train TEXT --time 10m`.

A few steps of a model are timed on the text. From their speed follows how many tokens can be read in the time, and from
these how large the model is to be and how much of it is dropped. The plan is a number of tokens. It is fixed before
training starts and is stored with the settings, so that a killed run resumes with bit-identical results.

What is best for so many tokens of a text is in `wordtie.training.recipe`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch

from wordtie.config import SECTIONS, Settings, to_dict
from wordtie.config.keywords import settings_from
from wordtie.config.names import Names
from wordtie.data.token_file import PreparedData
from wordtie.errors import require
from wordtie.models.memory import check_size
from wordtie.ngrams.memory import ngrams_fit
from wordtie.training.precision import precision_of, resolve_device
from wordtie.training.process import exclusive_training
from wordtie.training.recipe import (
    MOST_EPOCHS,
    REFERENCE,
    Lengths,
    choose,
    measured_tokens,
    noise_for,
    size,
    streams_for,
    units,
    with_recipe,
)
from wordtie.training.rehearsal import Texts, read_texts
from wordtie.training.timings import Timings, seconds_to_count, time_model
from wordtie.training.warm_start import read_start

SHORT = 500_000
"""Words: shorter texts get noise where they are read until validation stops improving. It helped the first 100,000 and
300,000 words of Penn Treebank."""
SHARE_OF_MEASURING = 0.07
"""Of the time, for validation and the figures in the end: of long texts, a part is measured."""
SHARE_OF_NGRAMS = 0.25
"""Of the time that counting n-grams may take; they are left out if it would take longer."""
SHARE_OF_PLANNING = 0.15
"""Of the time, that timing models may take; then the plan is made of what is known."""
SECONDS_OF_TIMING, SHARE_OF_TIMING = 2.0, 1 / 12
"""The steps of one model are timed for so long at most, and for this share of the time of planning."""
NOISE_OF_TIMING = 0.03
"""By how much less a step may take by chance."""
SECONDS_TO_END = 2.0
"""To write the model and to end."""
Reasons: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class Plan:
    """Settings for a text, a machine and a time."""

    settings: Settings
    ngram: int | None
    """Order of the n-gram model to fit and to mix in; None if there is no time for one."""
    reasons: Reasons
    """Three lines: what was chosen, and why."""


def plan(text: Settings | str | Path, seconds: float, ngram: int | None = 5, **named: Any) -> Settings:
    """Settings with which training on this text takes about `seconds` on this machine, all included.

    `text` and keyword arguments are those of `wordtie.train`; what they set is kept, the rest is chosen. `ngram` is the
    order that you will give to `train`: counting takes its share of the time. The machine is timed for a few seconds.

        wordtie.train(wordtie.plan("novel.txt", 600), "runs/novel", ngram=5)
    """
    settings = settings_from(text, **named)
    names = Names(SECTIONS)
    given = {(names.switch(name) or [names.find(name)])[0] for name in named if name not in SECTIONS}
    default = to_dict(Settings())
    for section, values in to_dict(settings).items():
        given |= {f"{section}.{name}" for name, value in values.items() if value != default[section][name]}
    return make_plan(settings, given, seconds, ngram=ngram, keep_ngram=True).settings


def make_plan(
    settings: Settings,
    given: Collection[str],
    seconds: float,
    *,
    ngram: int | None = 5,
    keep_ngram: bool = False,
    spent: float = 0.0,
) -> Plan:
    """As `plan`. `given`: full names of the settings that are kept. `spent`: seconds of the time that are over.

    `ngram` is left out where it would take too long to count, unless `keep_ngram` says that it is wanted all the same.
    """
    started = time.monotonic() - spent
    require(seconds > 0, f"the time to plan for must be positive, got {seconds}")
    read_start(settings)  # what cannot be trained is refused before any text is read
    texts = read_texts(settings)
    data = texts.for_training(settings.training.rehearsal)
    lengths = Lengths(len(data.train), len(data.valid), len(data.test), len(data.vocabulary))
    earlier = 2 * sum(len(each.test) for each in texts.earlier)  # by network and mixture
    with exclusive_training(settings.training.threads, resolve_device(settings.training.device)):
        wanted = ngram
        ngram, counting = planned_ngram(texts, ngram, seconds, keep_ngram)

        def chosen_by(timings: Timings, hidden: int | None = None) -> Settings:
            measuring = SHARE_OF_MEASURING * seconds
            own = min(lengths.valid, measured_tokens(lengths, measuring, timings) or lengths.valid)
            weighed = sum(map(len, texts.for_weights(settings.training.rehearsal, own)))
            read_again = timings.remembering + (earlier + weighed) * timings.measuring
            left = seconds - counting - read_again - SECONDS_TO_END - (time.monotonic() - started)
            return choose(settings, given, lengths, left, measuring, timings, hidden)

        stopwatch = Stopwatch(settings, given, data, SHARE_OF_PLANNING * seconds, mixed=ngram is not None)
        reference = units(settings, given, REFERENCE)
        timings = stopwatch.time(reference)
        if "training.threads" not in given and stopwatch.has_time():
            threads, timings = with_fewer_threads(timings, lambda: stopwatch.time(reference), stopwatch.has_time)
            settings = settings_from(settings, **{"training.threads": threads})
        chosen = chosen_by(timings)
        hidden, training = chosen.model.hidden, chosen.training
        if hidden != reference or training.streams * training.steps != timings.tokens:
            if stopwatch.has_time():
                timings = stopwatch.time(hidden, training.tokens or 0)
            else:
                hidden = reference
            chosen = chosen_by(timings, hidden)
    fixed = "training.tokens" in given or "training.epochs" in given
    return Plan(chosen, ngram, reasons(chosen, data, seconds, timings, mixed_in(ngram, wanted), fixed))


class Stopwatch:
    """Times models of the recipe on a text, for about `most` seconds in all.

    `mixed`: n-grams and recent words will be mixed in.
    """

    def __init__(
        self, settings: Settings, given: Collection[str], data: PreparedData, most: float, *, mixed: bool
    ) -> None:
        self.settings, self.given, self.data, self.most, self.mixed = settings, given, data, most, mixed
        self.started = time.monotonic()
        self.first: float | None = None
        """Seconds that the first timing took."""

    def has_time(self) -> bool:
        """For another timing, which takes as long as the first."""
        return time.monotonic() - self.started + (self.first or 0.0) <= self.most

    def time(self, hidden: int, tokens: int = 0) -> Timings:
        """Of a model of so many units, to be trained on so many tokens."""
        candidate = with_recipe(self.settings, self.given, size(hidden) | streams_for(len(self.data.train), tokens))
        check_size(candidate, len(self.data.vocabulary), resolve_device(candidate.training.device))
        timings = time_model(
            candidate, self.data, min(SECONDS_OF_TIMING, SHARE_OF_TIMING * self.most), mixed=self.mixed
        )
        if self.first is None:
            self.first = time.monotonic() - self.started
        return timings


def planned_ngram(texts: Texts, order: int | None, seconds: float, keep: bool) -> tuple[int | None, float]:
    """(The order of the n-gram model, seconds to count it); (None, 0) for none.

    It is left out where counting takes too much of these seconds or of the memory, unless it is to be kept.
    """
    if not order:
        return order, 0.0
    counting = seconds_to_count(texts.for_counting(), order, SHARE_OF_MEASURING * seconds)
    if keep or (counting <= SHARE_OF_NGRAMS * seconds and ngrams_fit(texts.tokens_to_count, order)):
        return order, counting
    return None, 0.0


def fitted_to_length(settings: Settings, given: Collection[str]) -> Settings:
    """Settings for this text, read until validation stops improving. `given`: full names of those that are kept.

    A text of less than `SHORT` words is read so often that noise helps; a very short one is read in fewer streams.
    """
    precision_of(settings, resolve_device(settings.training.device))  # what makes no sense is refused before any text
    read_start(settings)
    words = len(read_texts(settings).for_training(settings.training.rehearsal).train)
    noise = noise_for(MOST_EPOCHS, settings, given) if words < SHORT else {}
    return with_recipe(settings, given, {**streams_for(words), **noise})


def with_fewer_threads(
    timings: Timings, timed: Callable[[], Timings], has_time: Callable[[], bool]
) -> tuple[int | None, Timings]:
    """(The number of threads that is fastest, None for all; its timings). torch has this number afterwards.

    Half as many are tried while that is faster, and there is time: where other work is on the machine, threads wait for
    each other.
    """
    most = torch.get_num_threads()
    best = most
    while best > 1 and has_time():
        torch.set_num_threads(best // 2)
        found = timed()
        if found.window > (1 - NOISE_OF_TIMING) * timings.window:
            break
        best, timings = best // 2, found
    torch.set_num_threads(best)
    return (None if best == most else best), timings


def mixed_in(ngram: int | None, wanted: int | None) -> str:
    """Of the n-gram model of this order, where one of the order `wanted` was asked for."""
    if ngram:
        return f"a {ngram}-gram model and recent words are mixed in"
    return "no n-gram model" + (
        f": to count it takes too long, or too much memory; --ngram {wanted} does it" if wanted else ""
    )


def reasons(
    settings: Settings, data: PreparedData, seconds: float, timings: Timings, mixed: str, fixed: bool
) -> Reasons:
    """Three lines: what was chosen, and why. `mixed`: what with; `fixed`: the number of tokens was given."""
    model, training = settings.model, settings.training
    tokens = training.tokens or training.epochs * len(data.train)
    epochs = tokens / len(data.train)
    rate = timings.tokens / timings.window
    needed = timings.seconds_of(tokens, settings.loss.full_at_end)
    enough = f": {MOST_EPOCHS} are enough" if epochs >= MOST_EPOCHS and not fixed else " as given" if fixed else ""
    limit = f"s, more than the {seconds:.0f} s given" if needed > seconds else f"of {seconds:.0f} s"
    at_end = settings.loss.full_at_end
    softmax = settings.loss.softmax + (f", over all words in the last {100 * at_end:.0f} %" if at_end else "")
    validations = "1 validation" if training.validations == 1 else f"{training.validations or 'some'} validations"
    noise = f" and noise {settings.noise.gamma:g}" if settings.noise.kind != "none" else ""
    return (
        f"plan: {tokens:,} tokens, {epochs:.2g} epochs{enough}: about {needed:.0f} {limit}, "
        f"at {rate:,.0f} words/s on this machine",
        f"plan: {model.layers} layer of {model.hidden} units for so many tokens, dropout "
        f"{model.hidden_dropout:g}{noise} for so many epochs, over {len(data.vocabulary):,} words",
        f"plan: {training.optimiser}, rate {training.lr:g}, {training.streams} streams of {training.steps} steps, "
        f"softmax {softmax}; {validations}; {mixed}",
    )
