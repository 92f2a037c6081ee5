"""A recipe that fits itself to text, machine and time: `wordtie train TEXT --time 10m`.

A few steps of a model are timed on the text. Their speed determines how many tokens can be read in the time, and these
the size and the dropout of the model. The plan is a number of tokens. It is fixed before training starts and is stored
with the settings, so that a killed run resumes with bit-identical results.

Without a time, nothing is timed: training lasts until validation stops improving, and the plan fits the text alone.

What is best for a number of tokens is in `wordtie.training.recipe`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import torch

from wordtie.config import SECTIONS, Settings, parse_time, plain_values, to_dict
from wordtie.config.keywords import settings_from
from wordtie.config.names import Names
from wordtie.config.ngram import NgramSettings
from wordtie.config.recommended import rate_to_extend, recommended
from wordtie.console import amount
from wordtie.data.batches import stream_length
from wordtie.data.token_file import PreparedData
from wordtie.errors import require
from wordtie.evaluation.format_perplexity import format_epochs
from wordtie.models.memory import parameters_of
from wordtie.ngrams.memory import check_ngrams_fit, ngrams_fit
from wordtie.training.precision import precision_of, resolve_device
from wordtie.training.process import exclusive_training
from wordtie.training.recipe import (
    MARGIN,
    MOST_EPOCHS,
    REFERENCE,
    USUAL_EPOCHS,
    dropout_for,
    noise_for,
    samples_for,
    size,
    streams_for,
    tokens_of,
    units,
    with_recipe,
)
from wordtie.training.rehearsal import Texts, of_the_start, read_texts
from wordtie.training.time_budget import SHARE_OF_MEASURING, Stopwatch, TimeBudget, lengths_of
from wordtie.training.timings import Counting, Timings, time_counting
from wordtie.training.warm_start import check_words_of, read_start

SHARE_OF_NGRAMS = 0.25
"""Share of the time that counting n-grams may take; they are left out if it would take longer."""
SHARE_OF_PLANNING = 0.15
"""Share of the time that timing models may take; after it, the plan is made from what is known."""
NOISE_OF_TIMING = 0.03
"""Share by which a step may be faster by chance."""
Reasons: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class Plan:
    """Settings for a text, a machine and a time. `wordtie.train` takes it in place of a text."""

    settings: Settings
    ngram: int | None
    """Order of the n-gram model to fit and to mix in; None if there is no time or no memory for one."""
    reasons: Reasons
    """Three lines: what was chosen, and why."""

    def __str__(self) -> str:
        return "\n".join(self.reasons)


def plan(
    text: Settings | str | Path,
    seconds: float | str | None = None,
    ngram: int | Literal["none"] | None = None,
    *,
    extend_vocabulary: bool = False,
    **named: Any,
) -> Plan:
    """Plan a training on this text that takes about `seconds` on this machine, all included; `"10m"` is ten minutes.

    Without `seconds`, training stops when the validation perplexity no longer improves.

    `text` and keyword arguments are those of `wordtie.train`; what they set is kept, the rest is chosen. A default
    value counts as set only if it has a keyword of its own: `layers=2`, not `model=ModelSettings(layers=2)`. `ngram` is
    the order of the n-gram model to mix in, or "none". If it is not given, 5-grams are mixed in unless counting them
    would take too much of the time, or too much memory. With `seconds`, the machine is timed for a few of them.

        wordtie.train(wordtie.plan("novel.txt", 600), "runs/novel")
    """
    if extend_vocabulary or not isinstance(text, Settings):
        named = of_the_start(named, extend_vocabulary) | named
    given = given_by(text, named)
    if extend_vocabulary:
        rate = rate_to_extend(given)
        given, named = given | rate, named | rate
    settings = settings_from(text, **recommended(given), **named)
    if isinstance(seconds, str):
        seconds = parse_time(seconds, "seconds")
    if ngram is None:
        return make_plan(settings, given, seconds)
    order = None if ngram == "none" else NgramSettings(settings.data, ngram).order
    return make_plan(settings, given, seconds, ngram=order, keep_ngram=True)


def given_by(text: Settings | str | Path, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a caller of `plan` sets, by full name: all keywords, and values of sections that are no default.

    >>> from wordtie.config import ModelSettings
    >>> given_by("novel.txt", {"nhid": 8, "model": ModelSettings(layers=3, hidden=200), "tied": True})
    {'model.layers': 3, 'model.hidden': 8, 'model.head': 'tied'}
    """
    names, default = Names(SECTIONS), to_dict(Settings())
    sections = {name: getattr(text, name) for name in SECTIONS} if isinstance(text, Settings) else {}
    sections |= {name: value for name, value in named.items() if name in SECTIONS}
    given = {
        f"{section}.{name}": value
        for section, values in sections.items()
        for name, value in plain_values(values).items()
        if value != default[section][name]
    }
    for name, value in named.items():
        if name not in SECTIONS:
            full, if_true, if_false = names.switch(name) or (names.find(name), value, value)
            given[full] = if_true if value else if_false
    return given


def make_plan(
    settings: Settings,
    given: Collection[str],
    seconds: float | None,
    *,
    ngram: int | None = 5,
    keep_ngram: bool = False,
    spent: float = 0.0,
) -> Plan:
    """Make a plan, as `plan` does. `given`: full names of the settings to keep. `spent`: seconds already used.

    The n-gram model is left out if counting would take too much time or memory, unless `keep_ngram`. Raises
    `SettingsError` if it is kept and does not fit into memory.
    """
    if seconds is None:
        return fitted_to_length(settings, given, ngram, keep_ngram=keep_ngram)
    started = time.monotonic() - spent
    texts, data = texts_to_plan_for(settings, seconds)
    with exclusive_training(settings.training.threads, resolve_device(settings.training.device)):
        wanted = ngram
        ngram, counting = planned_ngram(texts, ngram, seconds, keep_ngram)
        stopwatch = Stopwatch(data, SHARE_OF_PLANNING * seconds, mixed=ngram is not None)
        of_text = {**streams_for(len(data.train)), **samples_for(len(data.vocabulary))}
        reference = with_recipe(settings, given, {**size(units(settings, given, REFERENCE)), **of_text})
        timings = stopwatch.time(reference)
        if "training.threads" not in given and stopwatch.has_time():
            threads, timings = with_fewer_threads(timings, lambda: stopwatch.time(reference), stopwatch.has_time)
            settings = settings_from(settings, **{"training.threads": threads})
        budget = TimeBudget(seconds, started, texts, lengths_of(texts, data), counting)
        chosen, timings = budget.best(settings, given, reference, timings, stopwatch)
    fixed = "training.tokens" in given or "training.epochs" in given
    rest = time.monotonic() - started + budget.besides_training(chosen, timings)
    return Plan(chosen, ngram, reasons(chosen, data, seconds, rest, timings, mixed_in(ngram, wanted), fixed))


def texts_to_plan_for(settings: Settings, seconds: float) -> tuple[Texts, PreparedData]:
    """Return (all texts, those to train on). What cannot be trained is refused, if possible before they are read."""
    require(seconds > 0, f"the time to plan for must be positive, got {seconds}")
    start = read_start(settings)
    texts = read_texts(settings.data)
    if start:
        check_words_of(start, settings, texts.own)
    return texts, texts.for_training(settings.training.rehearsal)


def planned_ngram(texts: Texts, order: int | None, seconds: float, keep: bool) -> tuple[int | None, Counting]:
    """Return (the order of the n-gram model, the time it takes); None and no time without one.

    It is left out if counting takes too much of these seconds or of the memory, unless `keep`. Raises `SettingsError`
    if it is kept and does not fit into memory.
    """
    if not order:
        return order, Counting()
    if not has_memory(texts, order, keep=keep):
        return None, Counting()
    counting = time_counting(texts.own, order, texts.tokens_to_count)
    reading = min((len(texts.own.valid) + len(texts.own.test)) * counting.reading, SHARE_OF_MEASURING * seconds)
    short = counting.fitting + reading <= SHARE_OF_NGRAMS * seconds
    return (order, counting) if keep or short else (None, Counting())


def has_memory(texts: Texts, order: int, *, keep: bool) -> bool:
    """Return whether n-grams of this order fit into memory. Raises `SettingsError` if they do not, but are kept."""
    if keep:
        check_ngrams_fit(texts.tokens_to_count, order)
    return keep or ngrams_fit(texts.tokens_to_count, order)


def fitted_to_length(
    settings: Settings, given: Collection[str], ngram: int | None = 5, *, keep_ngram: bool = False
) -> Plan:
    """Plan for this text, read until validation stops improving. `given`: full names of the settings to keep.

    The shorter the text, the more dropout and noise; a very short one is read in fewer streams.
    """
    precision_of(settings, resolve_device(settings.training.device))  # what makes no sense is refused before any text
    read_start(settings)
    texts = read_texts(settings.data)
    data = texts.for_training(settings.training.rehearsal)
    words = len(data.train)
    of_text = {**streams_for(words), **samples_for(len(data.vocabulary))}
    if settings.training.start_from is None:  # a model that knows much already need not read the text as often
        epochs = settings.training.tokens / words if settings.training.tokens else USUAL_EPOCHS
        of_text |= noise_for(words, epochs, settings, given)
        parameters = parameters_of(with_recipe(settings, given, of_text), len(data.vocabulary))
        of_text |= dropout_for(epochs, parameters / words)
    fitted = with_recipe(settings, given, of_text)
    stream_length(words, fitted.training.streams)  # refuses a text that is too short, before anything is printed
    kept = ngram if ngram and has_memory(texts, ngram, keep=keep_ngram) else None
    sizes = f"plan: {size_of(fitted)}, {dropped(fitted)} for {amount(words, 'word')}"
    return Plan(fitted, kept, (length_of(fitted, words), sizes, steps_of(fitted, data, mixed_in(kept, ngram))))


def with_fewer_threads(
    timings: Timings, timed: Callable[[], Timings], has_time: Callable[[], bool]
) -> tuple[int | None, Timings]:
    """Return (the fastest number of threads, None for all; its timings). torch has this number afterwards.

    The number is halved while that is faster and there is time: on a machine with other work, threads wait for each
    other.
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
    """Describe the n-gram model of this order; if it is None, say why one of the order `wanted` was left out."""
    if ngram:
        return f"a {ngram}-gram model and recent words are mixed in"
    return "no n-gram model" + (
        f": to count it takes too long, or too much memory; --ngram {wanted} does it" if wanted else ""
    )


def reasons(
    settings: Settings, data: PreparedData, seconds: float, rest: float, timings: Timings, mixed: str, fixed: bool
) -> Reasons:
    """Return three lines: what was chosen for a time, and why.

    `rest`: seconds for all but training steps; `mixed`: see `mixed_in`; `fixed`: tokens or epochs were given.
    """
    training = settings.training
    tokens = training.tokens or training.epochs * len(data.train)
    epochs = tokens / len(data.train)
    rate = timings.tokens / timings.window
    needed = timings.seconds_of(tokens, settings.loss.full_at_end)
    most = tokens_of(MOST_EPOCHS, len(data.train), settings)
    enough = " as given" if fixed else f": {MOST_EPOCHS} are enough" if tokens >= most else ""
    limit = f"of {seconds:,.0f} s"
    if needed + rest > (1 + MARGIN) * seconds:
        limit = f"s, and {rest:,.0f} s for the rest, more than the {seconds:,.0f} s given"
    return (
        f"plan: {tokens:,} tokens, {format_epochs(epochs, 2)}{enough}: about {needed:,.0f} {limit}, "
        f"at {rate:,.0f} words/s on this machine",
        f"plan: {size_of(settings)} for so many tokens, {dropped(settings)} for so many epochs",
        steps_of(settings, data, mixed, " for so many tokens"),
    )


def length_of(settings: Settings, words: int) -> str:
    """Describe how long a text of `words` is read, if no time is given."""
    training = settings.training
    if training.tokens:
        return f"plan: {training.tokens:,} tokens, {format_epochs(training.tokens / words, 2)} as given"
    epochs = f"{amount(training.epochs, 'epoch')} of {words:,} words"
    if not training.patience or training.patience >= training.epochs:
        return f"plan: {epochs}"
    more = amount(training.patience, "validation" if training.validations else "epoch")
    return f"plan: at most {epochs}, until the validation perplexity has not improved for {more}"


def size_of(settings: Settings) -> str:
    """Describe the size of the model."""
    return f"{amount(settings.model.layers, 'layer')} of {amount(settings.model.hidden, 'unit')}"


def dropped(settings: Settings) -> str:
    """Describe dropout and noise."""
    noise = f" and noise {settings.noise.gamma:g}" if settings.noise.kind != "none" else ""
    return f"dropout {settings.model.hidden_dropout:g}{noise}"


def steps_of(settings: Settings, data: PreparedData, mixed: str, why: str = "") -> str:
    """Describe optimiser, windows, softmax, validations, and what is `mixed` in, as `mixed_in` does."""
    training, loss = settings.training, settings.loss
    words = f"{len(data.vocabulary):,} words"
    sampled = loss.softmax == "sampled" and loss.samples < len(data.vocabulary)
    softmax = f"over a sample of {loss.samples:,} of {words}" if sampled else f"over {words}"
    softmax += f", over all in the last {100 * loss.full_at_end:.0f} %" if sampled and loss.full_at_end else ""
    number = training.validations
    validations = "a validation an epoch" if number is None else amount(number, "validation")
    for_words = "" if training.word_rate == 1 else f" ({training.word_rate:g} times as high for the word matrix)"
    return (
        f"plan: {training.optimiser}, rate {training.lr:g}{for_words} and {amount(training.streams, 'stream')} of "
        f"{amount(training.steps, 'step')}{why}, softmax {softmax}; {validations}; {mixed}"
    )
