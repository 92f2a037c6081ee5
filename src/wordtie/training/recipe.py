"""The recipe for a budget: model size, dropout, noise and streams for a number of training tokens.

`choose` is a pure function of the lengths of the texts and of what was timed. Its tables were chosen on the validation
texts of Penn Treebank, the State of the Union and WikiText-2. `benchmarks/` has the comparisons; only those of sizes
below nine million tokens were not recorded.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wordtie.config import Settings, TrainingSettings, to_dict
from wordtie.config.keywords import settings_from
from wordtie.config.recommended import BUDGET, RECOMMENDED, recommended
from wordtie.models.memory import parameters_of
from wordtie.training.timings import Timings

REFERENCE = 256
"""Units of the model that is timed first."""
SIZES = ((0.25e6, 128), (0.5e6, 192), (4e6, REFERENCE), (9e6, 320), (25e6, 400), (math.inf, 512))
"""Best number of units by the tokens that `REFERENCE` units have time to train on, as (upper limit, units)."""
LARGEST = 768
"""Units in place of the last number of `SIZES` if there is time to read as many tokens with them: time that is left
buys a larger model, since more epochs make it no better (`benchmarks/sizes.py`)."""
DROPOUTS = ((3.6, 0.0), (5.2, 0.1), (10.0, 0.2), (25.0, 0.3), (45.0, 0.4), (math.inf, 0.5))
"""Best dropout by epochs x sqrt(parameters / words of the text), as (upper limit, dropout): `benchmarks/dropout.py`,
and from 9 on `benchmarks/regularisation.py`."""
NOISES = (
    (200_000, ((6.0, 0.0), (16.0, 0.1), (math.inf, 0.3))),
    (500_000, ((6.0, 0.0), (math.inf, 0.1))),
    (math.inf, ((9.0, 0.0), (math.inf, 0.1))),
)
"""Best gamma of data noising with Kneser-Ney (`wordtie.noise`) by words of the text and by epochs, as (upper limit of
words, pairs of (upper limit of epochs, gamma)): `benchmarks/short_texts.py`, on 100,000 and 300,000 words,
`benchmarks/regularisation.py` and `benchmarks/sizes.py`."""
STREAMS = ((6e6, 32), (math.inf, 64))
"""Best number of streams by tokens, as (upper limit, streams): with more time, steps may be fewer and less noisy."""
RATES = ((0.2e6, 0.012), (0.8e6, 0.006))
"""Best learning rate by tokens, as (upper limit, rate), if a text is read less than `OFTEN` times: few steps need a
higher one (`benchmarks/learning_rate.py`)."""
OFTEN = 3.0
"""Epochs from which on the learning rate is the recipe's, however few tokens they are."""
WORD_RATES = ((2.5e6, 10.0), (9e6, 5.0), (math.inf, 3.0))
"""Best multiple of the learning rate for the word matrix by tokens, as (upper limit, multiple): few steps at a low rate
leave rare words where they began, many at a high rate are noisy (`benchmarks/word_rate.py`)."""
WORDS_PER_SAMPLE, FEWEST_SAMPLES, MOST_SAMPLES = 5, 1024, 4096
"""Words of the vocabulary for each word that the softmax samples, and limits of the sample: `benchmarks/samples.py`.
With so many, a full softmax at the end takes more time than it is worth."""
MOST_EPOCHS = 40
"""Largest number of epochs to plan: with twice as many, the network overfits, and the mixture gains no more than 0.5 %
(`benchmarks/sizes.py`)."""
USUAL_EPOCHS = 20
"""Epochs for which dropout and noise are chosen if it is not known how often the text will be read: until validation no
longer improves (`benchmarks/short_texts.py`)."""
FEWEST_WINDOWS = 20
"""Windows to train on even if there is no time at all: an untrained model is of no use."""
MOST_VALIDATIONS = 10
FEWEST_MEASURED = 5_000
"""Tokens of each text that are measured however little time there is."""
READ_AGAIN = 5
"""How many times longer an earlier test text takes than another of its length. Three models read it: the network, the
mixture and, if only a part is measured, the network before. For each `<unk>`, they compute the probability of every
word (`wordtie.evaluation.earlier_words`)."""
MARGIN = 0.025
"""Share of the time kept in reserve for what was not foreseen."""


@dataclass(frozen=True)
class Lengths:
    """Tokens of the three texts, words of the vocabulary, and tokens of the test texts of earlier runs."""

    train: int
    valid: int
    test: int
    vocabulary: int
    earlier: tuple[int, ...] = ()


def choose(
    settings: Settings,
    given: Collection[str],
    lengths: Lengths,
    seconds: float,
    measuring: float,
    timings: Timings,
    hidden: int | None = None,
) -> Settings:
    """Choose the settings for texts of these lengths, at the speed of these timings.

    `seconds`: time for training, validation and the final figures; `measuring`: the part of it for all but training.
    `hidden`: units of the timed model, if it is the chosen one; without it, the timed model has `REFERENCE` units, and
    the size is chosen here.
    """
    words = lengths.train
    training = with_recipe(settings, given, {}).training
    if "training.measured_tokens" not in given:
        training = replace(training, measured_tokens=measured_tokens(lengths, measuring, timings))
    once, at_the_end = measuring_seconds(lengths, training.measured_tokens, timings)
    once += timings.saving
    more = int((measuring - at_the_end) / max(once, 1e-9))
    asked = training.validations if "training.validations" in given else None
    validations = asked or 1 + max(0, min(more, MOST_VALIDATIONS - 1))
    left = max(0.0, seconds * (1 - MARGIN) - at_the_end - timings.saving - (validations - 1) * once)
    full_at_end = with_recipe(settings, given, {}).loss.full_at_end
    windows = max(FEWEST_WINDOWS, int(left / timings.seconds_of(timings.tokens, full_at_end)))
    tokens = planned_tokens(settings, given, words, windows * timings.tokens)
    streams = streams_for(words, tokens)
    window = with_recipe(settings, given, streams).training.streams * training.steps
    if training.tokens is None:  # which say all of the epochs
        settings = replace(settings, training=replace(settings.training, epochs=TrainingSettings.epochs))
    of_size = size(hidden or units(settings, given, _first(SIZES, tokens)))
    parameters = parameters_of(with_recipe(settings, given, of_size), lengths.vocabulary)
    return with_recipe(
        settings,
        [name for name in given if name != "training.tokens"],  # a plan's schedule fits any number of them
        {
            **of_size,
            **samples_for(lengths.vocabulary),
            **dropout_for(tokens / words, parameters / words),
            **noise_for(words, tokens / words, settings, given),
            **rates_for(tokens, window, tokens / words if training.start_from is None else OFTEN),
            "training.tokens": tokens,
            "training.measured_tokens": training.measured_tokens,
            "training.validations": min(validations, max(1, tokens // window)),
            "training.patience": 0,
            **streams,
        },
    )


def planned_tokens(settings: Settings, given: Collection[str], words: int, most: int) -> int:
    """Return the tokens to train on: as given, or of the epochs given, or `most`, but at most `MOST_EPOCHS` epochs.

    An epoch reads equally many tokens in each stream, and leaves out the rest.
    """
    if settings.training.tokens is not None:
        return settings.training.tokens
    fixed = "training.epochs" in given
    epochs = settings.training.epochs if fixed else MOST_EPOCHS
    tokens = epochs * words if fixed else min(most, epochs * words)
    return min(tokens, tokens_of(epochs, words, with_recipe(settings, given, streams_for(words, tokens))))


def tokens_of(epochs: int, words: int, settings: Settings) -> int:
    """Return the tokens that so many epochs of a text of `words` read with the streams of these settings."""
    streams = settings.training.streams
    return epochs * max(1, words // streams) * streams


def larger(settings: Settings, given: Collection[str], words: int) -> Settings | None:
    """Return a plan with `LARGEST` units in place of the most of `SIZES`, if all epochs are planned; None otherwise."""
    fixed = {"model.hidden", "training.tokens", "training.epochs"} & {*given}
    tokens = settings.training.tokens or 0
    if fixed or settings.model.hidden != SIZES[-1][1] or tokens < tokens_of(MOST_EPOCHS, words, settings):
        return None
    free = recommended(_values_of(settings, given), choices := size(LARGEST))
    return settings_from(settings, **{name: value for name, value in choices.items() if name in free})


def measuring_seconds(lengths: Lengths, measured: int | None, timings: Timings) -> tuple[float, float]:
    """Return the seconds of (one validation, the last one and the final figures), over `measured` tokens a text."""
    valid, test = (min(length, measured or length) for length in (lengths.valid, lengths.test))
    once = valid * timings.validation
    return once, once + (valid + test) * timings.measuring


def measured_tokens(lengths: Lengths, seconds: float, timings: Timings) -> int | None:
    """Return how many tokens of each text can be measured in `seconds`; None if all can."""
    again = READ_AGAIN * timings.measuring
    if measuring_seconds(lengths, None, timings)[1] + again * sum(lengths.earlier) <= seconds:
        return None
    a_token_of_each = timings.validation + 2 * timings.measuring + again * len(lengths.earlier)
    return max(FEWEST_MEASURED, int(seconds / a_token_of_each))


def units(settings: Settings, given: Collection[str], planned: int) -> int:
    """Return the units of a layer: as given, or else as planned."""
    return settings.model.hidden if "model.hidden" in given else planned


def size(hidden: int) -> dict[str, int]:
    """Return the model's sizes. Word vectors are half as long as the state: longer ones are not worth their time."""
    return {"model.hidden": hidden, "model.embedding": max(1, hidden // 2)}


def samples_for(vocabulary: int) -> dict[str, Any]:
    """Choose the size of the sample over which the softmax normalises.

    >>> samples_for(10_000), samples_for(33_278)
    ({'loss.samples': 2000}, {'loss.samples': 4096})
    """
    return {"loss.samples": min(MOST_SAMPLES, max(FEWEST_SAMPLES, vocabulary // WORDS_PER_SAMPLE))}


def streams_for(words: int, tokens: float = 0) -> dict[str, Any]:
    """Choose more streams to train on many tokens, fewer for a short text, so that each is several windows long.

    >>> streams_for(1_000_000), streams_for(1_000_000, 9_000_000), streams_for(1000)
    ({'training.streams': 32}, {'training.streams': 64}, {'training.streams': 7})
    """
    most = words // (4 * RECOMMENDED["training.steps"])
    return {"training.streams": max(1, min(_first(STREAMS, tokens), most))}


def rates_for(tokens: int, window: int, epochs: float) -> dict[str, Any]:
    """Choose the rate, its schedule over `tokens`, `window` of them a step, and its multiple for the word matrix.

    >>> rates_for(2_000_000, 1024, 1.0)
    {'training.schedule': 'cosine', 'training.warmup': 50, 'training.word_rate': 10.0}
    >>> [rates_for(tokens, 1024, 0.1)["training.lr"] for tokens in (100_000, 500_000)]
    [0.012, 0.006]
    """
    rate = next((rate for limit, rate in RATES if tokens < limit and epochs < OFTEN), None)
    return {
        **({} if rate is None else {"training.lr": rate}),
        "training.schedule": "cosine",
        "training.warmup": min(50, max(1, tokens // window // 10)),
        "training.word_rate": _first(WORD_RATES, tokens),
    }


def dropout_for(epochs: float, parameters: float) -> dict[str, float]:
    """Choose dropout by the number of epochs, and of `parameters` for each word of the text.

    >>> dropout_for(2, 1), dropout_for(6, 4)["model.input_dropout"]
    ({'model.input_dropout': 0.0, 'model.hidden_dropout': 0.0}, 0.3)
    """
    dropout = _first(DROPOUTS, epochs * math.sqrt(parameters))
    return {"model.input_dropout": dropout, "model.hidden_dropout": dropout}


def noise_for(words: int, epochs: float, settings: Settings, given: Collection[str]) -> dict[str, Any]:
    """Choose data noising if the text is read often; nothing if a noise setting other than a positive gamma is given.

    >>> usual = Settings()
    >>> noise_for(1_000_000, 2, usual, []), noise_for(1_000_000, 20, usual, ["noise.kind"])
    ({}, {})
    >>> [noise_for(words, 20, usual, [])["noise.gamma"] for words in (1_000_000, 100_000)]
    [0.1, 0.3]
    """
    gamma = _first(_first(NOISES, words), epochs)
    chosen = {name for name in given if name.startswith("noise.")}
    if not gamma or chosen - {"noise.gamma"} or (chosen and not settings.noise.gamma):
        return {}
    return {"noise.kind": "kneser_ney", "noise.scheme": "data_noising", "noise.gamma": gamma}


def with_recipe(settings: Settings, given: Collection[str], choices: Mapping[str, Any]) -> Settings:
    """Set what was not given to the recipe's values, or to these choices in place of them.

    A value that was chosen together with that of a given setting is not taken (`wordtie.config.recommended`).
    """
    free = recommended(_values_of(settings, given), choices)
    free |= {name: value for name, value in choices.items() if name in free or name in BUDGET}
    if free.get("training.schedule") == "cosine" and "training.decay" in free:
        free["training.decay"] = TrainingSettings.decay  # it has no effect
    return settings_from(settings, **{name: value for name, value in free.items() if name not in given})


def _values_of(settings: Settings, given: Collection[str]) -> dict[str, Any]:
    sections = to_dict(settings)
    named = (name.split(".", 1) for name in given)
    return {f"{section}.{key}": sections[section][key] for section, key in named if section in sections}


def _first(table: Sequence[tuple[float, Any]], number: float) -> Any:
    return next(value for limit, value in table if number < limit)
