"""Dictionaries for keyboards that take no network: words with their frequencies, and which word follows which.

LatinIME, the keyboard of Android (AOSP) and its relatives, compiles a `.combined` text: f is a probability on a scale
where 255 is 1, and each step below divides by 1.15. A bigram line has the f of a word after the one above it. f 0 marks
a word that is never suggested and is no typing error.

    dictionary=main:en,locale=en,description=...,date=...,version=1
     word=sample,f=200
      bigram=wordlist,f=243

Keyman compiles a table of words and counts, with a tab between. A line that begins with # is a comment.

Both hold words with a letter in them: no punctuation, numbers, `<unk>` or `<eos>`.

Shapes: B contexts side by side, V words of the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordtie.config.paths import path_of
from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.errors import DataError, require
from wordtie.inference.frequencies import Frequencies, by_frequency
from wordtie.inference.loading import LoadedModel
from wordtie.models.next_word import Nats
from wordtie.models.recent_words import without_recent_words
from wordtie.storage.atomic import check_new, write_text

STEP = 1.15
"""Between two values of f."""
CERTAIN, RAREST = 255, 1
"""f of a probability of 1, and the lowest that is suggested."""
BLOCKED = 0
LONGEST = 47
"""Most letters of a word in LatinIME."""
PER = 10_000_000
"""Words of an imagined text in which a word that is hardly ever predicted still has a count of 1."""
CONTEXTS_AT_ONCE = 32
ZIPF = 2.7
"""The share of the word of rank r falls as 1 / (r + ZIPF) (Mandelbrot 1953)."""


@dataclass(frozen=True)
class Entry:
    """A word, how probable it is, and the likeliest words after it with their probabilities, likeliest first."""

    word: str
    p: float
    bigrams: Sequence[tuple[str, float]] = ()
    blocked: bool = False
    """Whether the word is never to be suggested."""


def entries(
    model: LoadedModel,
    frequencies: Frequencies | None = None,
    words: int | None = None,
    bigrams: int = 0,
    contexts: int = 2000,
    blocked: Collection[str] = (),
) -> list[Entry]:
    """Return the words of a model, most probable first: all, or `words` of them; then those of `blocked`, in any case.

    With frequencies, p is the share of the word in the text that was counted, with one added to each count. Without, it
    is the mean of the model's predictions after its `contexts` most frequent words, each with the share that Zipf's law
    gives it. Which words are frequent is known from the counts, or estimated by the unigrams of an n-gram model; for
    any other model, the first words of the vocabulary are taken, which are the most frequent if wordtie trained it.
    `bigrams`: number of the likeliest words to list after each of the words; their p is the model's prediction after
    the word at the start of a sentence. Blocked words count neither among the `words` nor as bigrams.

    Raises `SettingsError` for fewer than one context, `DataError` for a model without a word that has a letter.
    """
    require(contexts >= 1, f"there must be at least one context, got {contexts}")
    model = replace(model, model=without_recent_words(model.model))  # no word follows itself for having been read once
    vocabulary = model.tokenizer.vocabulary
    chosen = [number for number, word in enumerate(vocabulary.words) if is_word(word)]
    if not chosen:
        raise DataError(f"{model.folder}: none of the model's words has a letter, so a dictionary would be empty")
    share_V = None if frequencies is None else _shares(vocabulary, frequencies)
    order = _by_frequency(model, share_V)
    before = [number for number in order if vocabulary.words[number] not in (UNK, EOS)][:contexts]
    p_V = _expected(model, before) if share_V is None else share_V
    folded = {word.casefold() for word in blocked}
    hidden = [number for number in chosen if vocabulary.words[number].casefold() in folded]
    kept = sorted({*chosen} - {*hidden}, key=lambda number: (-p_V[number], number))[:words]
    after = _followers(model, sorted({*before} & {*kept}), kept, bigrams) if bigrams else {}
    shown = [Entry(vocabulary.words[number], float(p_V[number]), after.get(number, [])) for number in kept]
    return shown + [Entry(vocabulary.words[number], float(p_V[number]), blocked=True) for number in hidden]


def _expected(model: LoadedModel, before: Sequence[int]) -> NDArray[np.float64]:
    """Compute the mean of the predictions after these words, most frequent first, weighted by Zipf's law, (V,)."""
    share = 1 / (np.arange(len(before)) + 1 + ZIPF)
    mean_V = np.zeros(len(model.tokenizer.vocabulary))
    for first, p_BV in _predictions(model, before):
        mean_V += share[first : first + len(p_BV)] / share.sum() @ p_BV
    return mean_V


def _followers(
    model: LoadedModel, before: Sequence[int], kept: Sequence[int], count: int
) -> dict[int, list[tuple[str, float]]]:
    """Return the likeliest of the kept words after each of these words, with their probabilities."""
    found: dict[int, list[tuple[str, float]]] = {}
    for first, p_BV in _predictions(model, before):
        for number, p_V in zip(before[first : first + len(p_BV)], p_BV, strict=True):
            found[number] = _likeliest(model.tokenizer.vocabulary, kept, p_V, count)
    return found


def _by_frequency(model: LoadedModel, share_V: NDArray[np.float64] | None) -> Sequence[int]:
    """Return the ids, the most frequent word first, as far as that is known."""
    if share_V is None:
        return by_frequency(model, estimated=True) or range(len(model.tokenizer.vocabulary))
    found: list[int] = np.argsort(-share_V, kind="stable").tolist()
    return found


def is_word(word: str) -> bool:
    """Return whether a word can be in a dictionary: it has a letter, is not too long, and the files can hold it."""
    separates = any(mark in word for mark in ",=\t") or word.startswith("#")
    return word not in (UNK, EOS) and any(map(str.isalpha, word)) and len(word) <= LONGEST and not separates


def frequency(p: float) -> int:
    """Return f of LatinIME for a probability, at least 1.

    >>> frequency(1.0), frequency(1 / 1.15), frequency(0.001), frequency(0.0)
    (255, 254, 206, 1)
    """
    return RAREST if p <= 0 else max(RAREST, min(CERTAIN, CERTAIN + round(math.log(p) / math.log(STEP))))


def write_latinime(model_entries: Sequence[Entry], out: str | Path, locale: str, overwrite: bool = False) -> Path:
    """Write a `.combined` file; blocked words have an f of 0.

    Raises `SettingsError` for a locale with other characters than letters, digits, `_` and `-`, `SaveError` if the file
    exists and `overwrite` is not given, or if it cannot be written.
    """
    plain = all(part.isalnum() for part in locale.replace("-", "_").split("_"))
    require(plain, f"a locale is like en or en_US, got {locale!r}")
    lines = [f"dictionary=main:{locale.lower()},locale={locale},description=made by wordtie,date=0,version=1"]
    for entry in model_entries:
        lines.append(f" word={entry.word},f={BLOCKED if entry.blocked else frequency(entry.p)}")
        lines += [f"  bigram={word},f={frequency(p)}" for word, p in entry.bigrams]
    return _write(out, lines, overwrite)


def write_keyman(model_entries: Sequence[Entry], out: str | Path, overwrite: bool = False) -> Path:
    """Write a word list: words and their counts in ten million words, without those that are blocked.

    Raises `SaveError` as `write_latinime`.
    """
    shown = (entry for entry in model_entries if not entry.blocked)
    return _write(out, [f"{entry.word}\t{max(1, round(entry.p * PER))}" for entry in shown], overwrite)


def _write(out: str | Path, lines: Sequence[str], overwrite: bool) -> Path:
    path = path_of(out)
    check_new(path, overwrite)
    write_text(path, "".join(f"{line}\n" for line in lines))
    return path


def _predictions(model: LoadedModel, words: Sequence[int]) -> Iterator[tuple[int, Nats]]:
    """Yield (number of the first, p of every word after each at the start of a sentence, (B, V)), in batches."""
    for first in range(0, len(words), CONTEXTS_AT_ONCE):
        here = np.array([words[first : first + CONTEXTS_AT_ONCE]])
        state = model.model.advance(here, model.model.initial_state(here.shape[1]))
        yield first, np.exp(model.model.next(state).astype(np.float64))


def _likeliest(vocabulary: Vocabulary, kept: Sequence[int], p_V: Nats, count: int) -> list[tuple[str, float]]:
    ids = np.array(kept, np.intp)
    best = ids[np.argsort(-p_V[ids], kind="stable")[:count]]
    return [(vocabulary.words[number], float(p_V[number])) for number in best.tolist()]


def _shares(vocabulary: Vocabulary, frequencies: Frequencies) -> NDArray[np.float64]:
    """Return the share of each word, (V,). Raises `DataError` if none was counted."""
    if not any(word in frequencies.counts for word in vocabulary.words):
        raise DataError("the counts have none of the model's words: give those of a text in its language")
    return np.array([10 ** frequencies.of(word) / 1e6 for word in vocabulary.words])
