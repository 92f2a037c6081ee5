"""Keystroke savings: the share of keys that a keyboard saves by suggesting words (Garay-Vitoria & Abascal 2006).

    saved = 1 - keys with suggestions / keys without

Someone types a text word by word and letter by letter, and looks at the k likeliest words that begin with the letters
typed so far, before the first letter, too. As soon as the word is among them, one key takes it, and the blank after it
comes by itself. A word that is never among them is typed to its end. Without suggestions every letter and every blank
is a key; a line end counts as a blank. Punctuation that is a word of its own is suggested and typed as one.

Nobody looks at every suggestion, so this is what a keyboard could save at most. Suggestions are those of
`wordtie.inference.predict.next_words`, without `<unk>` and `<eos>`.

Shapes: T words of a window, V words of the vocabulary, K words with a prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import EOS, UNK
from wordtie.errors import DataError, require
from wordtie.models.mixture import Mixture
from wordtie.models.next_word import Floats, NextWordModel
from wordtie.ngrams.model import NgramModel

VALUES_AT_ONCE = 2_000_000
"""Probabilities (words x vocabulary) in memory at a time."""


@dataclass(frozen=True)
class Keystrokes:
    """Keys that a text takes."""

    keys: int
    """Number of keys with suggestions."""
    without: int
    words: int
    """Number of words in the text, not counting `<eos>` and `<unk>`."""
    taken: int
    """Words that were taken from the suggestions."""
    oov: int
    """Words that can never be suggested."""

    @property
    def saved(self) -> float:
        """Share of keys that is saved, 1 - keys / without."""
        return 1 - self.keys / self.without


@dataclass(frozen=True)
class _Typed:
    """A word as it is typed."""

    word: str
    blank: int
    """1 if a blank or a line end follows it, else 0."""


def keystrokes(
    model: NextWordModel[Any], tokenizer: Tokenizer, lines: Iterable[str], suggestions: int = 3, name: str = "text"
) -> Keystrokes:
    """Count the keys for a text, which is read as one stream, as in `wordtie evaluate`.

    `name` is that of the text in messages. Raises `SettingsError` for fewer than one suggestion, `DataError` for a text
    without words.
    """
    require(suggestions >= 1, f"there must be at least one suggestion, got {suggestions}")
    vocabulary = tokenizer.vocabulary
    found = _Finder(tokenizer, suggestions)
    keys = without = words = taken = oov = 0
    state, text = model.initial_state(1), _text(tokenizer, lines)
    size = max(1, VALUES_AT_ONCE // len(vocabulary))
    while window := list(islice(text, size)):
        ids_T1 = vocabulary.encode(typed.word for typed in window)[:, None]
        p_T1V, state = model.distributions(ids_T1, state)
        for typed, p_V in zip(window, p_T1V[:, 0], strict=True):
            if typed.word in (EOS, UNK):
                continue
            words += 1
            in_full = len(typed.word) + typed.blank
            letters = found.letters_before(typed.word, p_V)
            saves = letters is not None and letters + 1 < in_full
            oov += typed.word not in vocabulary
            taken += saves
            without += in_full
            keys += letters + 1 if letters is not None and saves else in_full
    if not words:
        raise DataError(f"{name}: has no words in it; give a file with text")
    return Keystrokes(keys, without, words, taken, oov)


def with_parts(model: NextWordModel[Any]) -> list[tuple[str, NextWordModel[Any]]]:
    """Return the model and the parts of a mixture, each with a suffix for its name: none, `: network`, `: 5-gram`; if
    there are several of a kind, `: network 1`, `: network 2`."""
    parts = model.parts if isinstance(model, Mixture) else ()
    kinds = [f": {part.trie.order}-gram" if isinstance(part, NgramModel) else ": network" for part in parts]
    names = [f"{kind} {kinds[: n + 1].count(kind)}" if kinds.count(kind) > 1 else kind for n, kind in enumerate(kinds)]
    return [("", model), *zip(names, parts, strict=True)]


class _Finder:
    """Finds after how many letters a word is among the suggestions."""

    def __init__(self, tokenizer: Tokenizer, suggestions: int) -> None:
        self.vocabulary = tokenizer.vocabulary
        self.suggestions = suggestions
        self._ids: dict[str, NDArray[np.int64]] = {}

    def letters_before(self, word: str, p_V: Floats) -> int | None:
        """Return after how many letters the word is suggested; None if it is unknown, or not before its last letter."""
        if word not in self.vocabulary:
            return None
        target = self.vocabulary.id(word)
        better_V = p_V > p_V[target]
        better_V[:target] |= p_V[:target] == p_V[target]
        better_V[[self.vocabulary.unk_id, self.vocabulary.eos_id]] = False
        if np.count_nonzero(better_V) < self.suggestions:
            return 0
        for letters in range(1, len(word)):
            if np.count_nonzero(better_V[self._with_prefix(word[:letters])]) < self.suggestions:
                return letters
        return None

    def _with_prefix(self, prefix: str) -> NDArray[np.int64]:
        """Return the ids (K,) of the words that begin with the prefix."""
        if prefix not in self._ids:
            self._ids[prefix] = self.vocabulary.prefixes.ids(prefix)
        return self._ids[prefix]


def _text(tokenizer: Tokenizer, lines: Iterable[str]) -> Iterator[_Typed]:
    for line in lines:
        for stretch in line.split():
            *before, last = tokenizer.words(stretch) or [""]
            yield from (_Typed(word, 0) for word in before)
            if last:
                yield _Typed(last, 1)
        if tokenizer.sentences:
            yield _Typed(EOS, 0)
