"""A recipe that fits itself to text, machine and time: `wordtie train TEXT --time 10m`.

A few steps of a model are timed on the text. From their speed follows how many tokens can be read in the time, and from
these how large the model is to be and how much of it is dropped. The plan is a number of tokens. It is fixed before
training starts and is stored with the settings, so that a killed run resumes with bit-identical results.

`choose` is a pure function of what was measured. The sizes are those that were best on the validation texts of Penn
Treebank and the State of the Union, for budgets from half a million tokens to ten million.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import torch

from wordtie.config import SECTIONS, Settings, to_dict
from wordtie.config.keywords import settings_from
from wordtie.config.names import Names
from wordtie.config.recommended import BUDGET, RECOMMENDED, recommended
from wordtie.data.token_file import PreparedData
from wordtie.errors import require
from wordtie.models.memory import check_size, ngrams_fit, parameters_of
from wordtie.training.precision import precision_of, resolve_device
from wordtie.training.process import exclusive_training
from wordtie.training.rehearsal import Texts, read_texts
from wordtie.training.timings import Timings, seconds_to_count, time_model
from wordtie.training.warm_start import read_start

REFERENCE = 256
"""Units of the model that is timed first."""
SIZES = ((0.25e6, 128), (0.5e6, 192), (4e6, REFERENCE), (9e6, 320), (25e6, 400), (math.inf, 512))
"""Up to how many tokens that it could be trained on in the time which number of units is best."""
DROPOUTS = ((3.6, 0.0), (5.2, 0.1), (8.0, 0.2), (25.0, 0.3), (33.0, 0.4), (math.inf, 0.5))
"""Up to how many epochs x sqrt(parameters / words of the text) which dropout is best: `benchmarks/dropout.py`."""
NOISES = ((6.0, 0.0), (16.0, 0.1), (math.inf, 0.3))
"""Up to how many epochs which gamma of data noising with Kneser-Ney (`wordtie.noise`) is best."""
STREAMS = ((6e6, 32), (math.inf, 64))
"""Up to how many tokens how many streams are best: with more time, steps may be fewer and less noisy."""
SHORT = 500_000
"""Words: shorter texts get noise where they are read until validation stops improving. It helped the first 100,000 and
300,000 words of Penn Treebank."""
MOST_EPOCHS = 40
"""More readings of a text teach a model nothing but this text."""
FEWEST_WINDOWS = 20
"""Trained on if there is no time at all: a model of nothing is of no use."""
MOST_VALIDATIONS = 10
SHARE_OF_MEASURING = 0.07
"""Of the time, for validation and the figures in the end: of long texts, a part is measured."""
FEWEST_MEASURED = 5_000
"""Tokens of each text that are measured however little time there is."""
SHARE_OF_NGRAMS = 0.25
"""Of the time that counting n-grams may take; they are left out if it would take longer."""
SHARE_OF_PLANNING = 0.15
"""Of the time, that timing models may take; then the plan is made of what is known."""
MARGIN = 0.025
"""Of the time, left for what was not foreseen."""
NOISE_OF_TIMING = 0.03
"""By how much less a step may take by chance."""
SECONDS_TO_END = 2.0
"""To write the model and to end."""
Reasons: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class Lengths:
    """Tokens of the three texts, and words of the vocabulary."""

    train: int
    valid: int
    test: int
    vocabulary: int


@dataclass(frozen=True)
class Plan:
    """Settings for a text, a machine and a time."""

    settings: Settings
    ngram: int | None
    """Order of the n-gram model to fit and to mix in; None if there is no time for one."""
    reasons: Reasons
    """Three lines: what was chosen, and why."""


def plan(text: Settings | str | Path, seconds: float, **named: Any) -> Settings:
    """Settings with which training on this text takes about so many seconds on this machine, all included.

    `text` and keyword arguments are those of `wordtie.train`; what they set is kept, the rest is chosen. The machine is
    timed for a few seconds.

        wordtie.train(wordtie.plan("novel.txt", 600), "runs/novel", ngram=5)
    """
    settings = settings_from(text, **named)
    names = Names(SECTIONS)
    given = {(names.switch(name) or [names.find(name)])[0] for name in named if name not in SECTIONS}
    default = to_dict(Settings())
    for section, values in to_dict(settings).items():
        given |= {f"{section}.{name}" for name, value in values.items() if value != default[section][name]}
    return make_plan(settings, given, seconds).settings


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
    earlier = sum(len(each.test) for each in texts.earlier)
    with exclusive_training(settings.training.threads, resolve_device(settings.training.device)):
        wanted = ngram
        ngram, counting = planned_ngram(texts, ngram, seconds, keep_ngram)
        reference = units(settings, given, REFERENCE)

        def timed(hidden: int, tokens: int = 0) -> Timings:
            candidate = with_recipe(settings, given, size(hidden) | streams_for(len(data.train), tokens))
            check_size(candidate, len(data.vocabulary), resolve_device(settings.training.device))
            return time_model(candidate, data, min(2.0, seconds / 80), mixed=ngram is not None)

        def chosen_by(timings: Timings, hidden: int | None = None) -> Settings:
            measured = timings.remembering + 2 * earlier * timings.measuring  # earlier texts by network and mixture
            left = seconds - counting - measured - SECONDS_TO_END - (time.monotonic() - started)
            return choose(settings, given, lengths, left, SHARE_OF_MEASURING * seconds, timings, hidden)

        def has_time() -> bool:
            """For another timing, which takes as long as the first."""
            return time.monotonic() - begun + first <= SHARE_OF_PLANNING * seconds

        lengths = Lengths(len(data.train), len(data.valid), len(data.test), len(data.vocabulary))
        begun = time.monotonic()
        timings = timed(reference)
        first = time.monotonic() - begun
        if "training.threads" not in given and has_time():
            threads, timings = with_fewer_threads(timings, lambda: timed(reference), has_time)
            settings = settings_from(settings, **{"training.threads": threads})
        chosen = chosen_by(timings)
        hidden, training = chosen.model.hidden, chosen.training
        if hidden != reference or training.streams * training.steps != timings.tokens:
            if has_time():
                timings = timed(hidden, training.tokens or 0)
            else:
                hidden = reference
            chosen = chosen_by(timings, hidden)
    fixed = "training.tokens" in given or "training.epochs" in given
    return Plan(chosen, ngram, reasons(chosen, data, seconds, timings, mixed_in(ngram, wanted), fixed))


def planned_ngram(texts: Texts, order: int | None, seconds: float, keep: bool) -> tuple[int | None, float]:
    """(The order of the n-gram model, seconds to count it); (None, 0) for none.

    It is left out where counting takes too much of these seconds or of the memory, unless it is to be kept.
    """
    if not order:
        return order, 0.0
    counting = seconds_to_count(texts.for_counting(), order)
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
    noise = noise_for(MOST_EPOCHS, given) if words < SHORT else {}
    return with_recipe(settings, given, {**streams_for(words), **noise})


def choose(
    settings: Settings,
    given: Collection[str],
    lengths: Lengths,
    seconds: float,
    measuring: float,
    timings: Timings,
    hidden: int | None = None,
) -> Settings:
    """The settings for texts of these lengths, at the speed of these timings.

    `seconds`: for training, validation and the figures in the end; `measuring`: of these, for all but training.
    `hidden`: units of the timed model, where it is the chosen one; without it, the model that was timed has `REFERENCE`
    units, and how large it is to be is chosen.
    """
    words = lengths.train
    training = with_recipe(settings, given, {}).training
    if "training.measured_tokens" not in given:
        training = replace(training, measured_tokens=measured_tokens(lengths, measuring, timings))
    once, at_the_end = measuring_seconds(lengths, training.measured_tokens, timings)
    once += timings.saving
    more = int((measuring - at_the_end) / max(once, 1e-9))
    validations = 1 + max(0, min(more, MOST_VALIDATIONS - 1))
    left = max(0.0, seconds * (1 - MARGIN) - at_the_end - timings.saving - (validations - 1) * once)
    full_at_end = with_recipe(settings, given, {"loss.full_at_end": timings.full_at_end}).loss.full_at_end
    windows = max(FEWEST_WINDOWS, int(left / timings.seconds_of(timings.tokens, full_at_end)))
    tokens = training.tokens or min(windows * timings.tokens, MOST_EPOCHS * words)
    if "training.epochs" in given:
        tokens = training.tokens or training.epochs * words
    streams = streams_for(words, tokens)
    window = with_recipe(settings, given, streams).training.streams * training.steps
    of_size = size(hidden or units(settings, given, _first(SIZES, tokens)))
    parameters = parameters_of(with_recipe(settings, given, of_size), lengths.vocabulary)
    return with_recipe(
        settings,
        given,
        {
            **of_size,
            "loss.full_at_end": full_at_end,
            **dropout_for(tokens / words, parameters / words),
            **noise_for(tokens / words, given),
            "training.schedule": "cosine",
            "training.warmup": min(50, max(1, tokens // window // 10)),
            "training.tokens": tokens,
            "training.measured_tokens": training.measured_tokens,
            "training.validations": min(validations, max(1, tokens // window)),
            "training.patience": 0,
            **streams,
        },
    )


def measuring_seconds(lengths: Lengths, measured: int | None, timings: Timings) -> tuple[float, float]:
    """(Of one validation, of the last one and the figures in the end), with so many tokens of each text measured."""
    valid, test = (min(length, measured or length) for length in (lengths.valid, lengths.test))
    once = valid * timings.validation
    return once, once + (valid + test) * timings.measuring


def measured_tokens(lengths: Lengths, seconds: float, timings: Timings) -> int | None:
    """How many tokens of each text can be measured in these seconds; None if they are enough for all."""
    if measuring_seconds(lengths, None, timings)[1] <= seconds:
        return None
    return max(FEWEST_MEASURED, int(seconds / (timings.validation + 2 * timings.measuring)))


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


def units(settings: Settings, given: Collection[str], planned: int) -> int:
    """Of a layer: so many as are given, or planned."""
    return settings.model.hidden if "model.hidden" in given else planned


def size(hidden: int) -> dict[str, int]:
    """Of the model. Word vectors are half as long as the state: they cost more time than they are worth."""
    return {"model.hidden": hidden, "model.embedding": hidden // 2}


def streams_for(words: int, tokens: float = 0) -> dict[str, Any]:
    """More streams to train on many tokens; fewer for a short text, so that each is several windows long.

    >>> streams_for(1_000_000), streams_for(1_000_000, 9_000_000), streams_for(1000)
    ({'training.streams': 32}, {'training.streams': 64}, {'training.streams': 7})
    """
    most = words // (4 * RECOMMENDED["training.steps"])
    return {"training.streams": max(1, min(_first(STREAMS, tokens), most))}


def dropout_for(epochs: float, parameters: float) -> dict[str, float]:
    """By how often the text is read, and how many `parameters` there are for each of its words.

    >>> dropout_for(2, 1), dropout_for(5, 4)["model.input_dropout"]
    ({'model.input_dropout': 0.0, 'model.hidden_dropout': 0.0}, 0.3)
    """
    dropout = _first(DROPOUTS, epochs * math.sqrt(parameters))
    return {"model.input_dropout": dropout, "model.hidden_dropout": dropout}


def noise_for(epochs: float, given: Collection[str]) -> dict[str, Any]:
    """Data noising, if the text is read often; nothing if a setting of the noise is given.

    >>> noise_for(20, []), noise_for(2, []), noise_for(20, ["noise.kind"])
    ({'noise.kind': 'kneser_ney', 'noise.scheme': 'data_noising', 'noise.gamma': 0.3}, {}, {})
    """
    gamma = _first(NOISES, epochs)
    if not gamma or any(name.startswith("noise.") for name in given):
        return {}
    return {"noise.kind": "kneser_ney", "noise.scheme": "data_noising", "noise.gamma": gamma}


def with_recipe(settings: Settings, given: Collection[str], choices: Mapping[str, Any]) -> Settings:
    """The recipe's values, and these choices instead of them, for what was not given.

    A choice that was made together with a given setting is not taken (`wordtie.config.recommended`).
    """
    sections = to_dict(settings)
    values = {
        name: sections[section][key] for name in given for section, key in [name.split(".", 1)] if section in sections
    }
    free = recommended(values, choices)
    free |= {name: value for name, value in choices.items() if name in free or name in BUDGET}
    if free.get("training.schedule") == "cosine":
        free.pop("training.decay", None)
    return settings_from(settings, **{name: value for name, value in free.items() if name not in given})


def _first(table: Sequence[tuple[float, Any]], number: float) -> Any:
    return next(value for limit, value in table if number < limit)


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
