"""The likeliest next words of a phrase, and what a word that is being typed may become.

`next_words` is what `wordtie predict`, `LoadedModel` and the server call. Whoever predicts while someone types keeps
the state between words:

    state = step(model, tokenizer, "the president of", model.initial_state(1))
    next_words(model, tokenizer, state, prefix="pe")
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate, islice
from numbers import Integral
from typing import Any

import numpy as np

from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import require
from wordtie.models.next_word import Floats, NextWordModel, S

CURSOR = "|"
"""At the end of a text: the word before it is not finished."""


def lines_of(text: str) -> list[str]:
    """The lines of a text as files have them: ended by a line end, Unix or Windows, and by nothing else; a byte-order
    mark before them is taken off.

    Raises `SettingsError` for what is not one string.
    """
    require(isinstance(text, str), f"give one string, its lines parted by \\n, got a {type(text).__name__}")
    require("\r" not in text.rstrip() or "\n" in text, r"the text has old Mac line ends, \r: replace them by \n")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n").split("\n")


def as_file(text: str) -> str:
    """The text as a file would have it: whether or not a line end closes it, one does."""
    return "\n".join(lines_of(text)) + "\n"


def words_of(tokenizer: Tokenizer, text: str) -> list[str]:
    """The words of a phrase: `<eos>` where a line ends within it, if lines are sentences."""
    text = "\n".join(lines_of(text))
    return tokenizer.tokenisation.tokens(text) if tokenizer.sentences else tokenizer.words(text)


def read(model: NextWordModel[S], tokenizer: Tokenizer, text: str) -> S:
    """The state after the phrase, which starts from `<eos>`."""
    return step(model, tokenizer, text, model.initial_state(1))


def step(model: NextWordModel[S], tokenizer: Tokenizer, text: str, state: S) -> S:
    """The state after more text, which begins and ends between words."""
    return after(model, tokenizer, words_of(tokenizer, text), state)


def after(model: NextWordModel[S], tokenizer: Tokenizer, words: Sequence[str], state: S) -> S:
    """The state after these words."""
    return model.advance(tokenizer.vocabulary.encode(words)[:, None], state) if words else state


def predict(
    model: NextWordModel[Any],
    tokenizer: Tokenizer,
    text: str,
    top: int = 10,
    words_only: bool = False,
    blocked: Collection[str] = (),
) -> list[tuple[str, float]]:
    """(word, probability), likeliest first: what may follow a phrase.

    Where the text ends in `|`, the cursor, the word that it stands in is being typed (`at_cursor`). The options are
    those of `next_words`.
    """
    words, prefix = at_cursor(tokenizer, text)
    state = after(model, tokenizer, words, model.initial_state(1))
    return next_words(model, tokenizer, state, prefix, top, words_only, blocked)


def at_cursor(tokenizer: Tokenizer, text: str) -> tuple[list[str], str]:
    """(The words before the cursor, the first letters of the one that is being typed).

    The cursor is a `|` at the end of the text. Without one, and after white space or punctuation, no word is being
    typed. A prefix may reach over what would be several words, if a word of the vocabulary begins so: `don'` is that of
    `don't`.
    """
    lines_of(text)  # refuses what is no text
    before = text.removesuffix(CURSOR)
    closes = "\n" if before != text and before.endswith("\n") else ""  # the cursor is on a line of its own
    words = words_of(tokenizer, before + closes)
    if before == text or before[-1:].isspace() or not words:
        return words, ""
    typed = tokenizer.words(before.split()[-1])
    lengths = accumulate(map(len, reversed(typed)))
    short_enough = sum(length <= tokenizer.vocabulary.prefixes.longest for length in lengths)
    for first in range(len(typed) - short_enough, len(typed)):
        prefix = "".join(typed[first:])
        if any(map(str.isalnum, prefix)) and tokenizer.vocabulary.prefixes.has(prefix):
            return words[: len(words) - len(typed) + first], prefix
    return (words[:-1], words[-1]) if any(map(str.isalnum, words[-1])) else (words, "")


def next_words(
    model: NextWordModel[S],
    tokenizer: Tokenizer,
    state: S,
    prefix: str = "",
    top: int = 10,
    words_only: bool = False,
    blocked: Collection[str] = (),
) -> list[tuple[str, float]]:
    """(word, probability), likeliest first, of the words that begin with the prefix.

    `words_only` leaves out `<unk>` and `<eos>`, `blocked` the words in it, in any case. The probabilities of the others
    stay what they are: they are those of the word given what was read, not given the prefix. Raises `SettingsError` for
    a `top` that is not a whole number of at least 1, and for a string in place of a list of words.
    """
    require(isinstance(top, Integral) and top >= 1, f"top must be a whole number of at least 1, got {top}")
    require(not isinstance(blocked, str), "blocked is a list of words, not one string")
    return likeliest(model.next(state)[0], tokenizer, prefix, int(top), words_only, blocked)


def likeliest(
    log_p_V: Floats,
    tokenizer: Tokenizer,
    prefix: str = "",
    top: int = 10,
    words_only: bool = False,
    blocked: Collection[str] = (),
) -> list[tuple[str, float]]:
    """As `next_words`, of a distribution that is known; words of the same probability by their ids."""
    vocabulary, top = tokenizer.vocabulary, min(top, len(log_p_V))
    spellings = (word if word.isascii() else spelt(tokenizer, word) for word in blocked)
    left_out = {number for word in spellings for number in vocabulary.prefixes.written(word).tolist()}
    if words_only:
        left_out |= {vocabulary.unk_id, vocabulary.eos_id}
    candidates = vocabulary.prefixes.ids(folded(tokenizer, prefix)) if prefix else np.arange(len(log_p_V))
    score_C = -log_p_V[candidates]
    most = top + len(left_out)
    if most < len(candidates):  # a sort of the whole vocabulary takes longer than the small models themselves
        few = np.flatnonzero(score_C <= np.partition(score_C, most - 1)[most - 1])
        candidates, score_C = candidates[few], score_C[few]
    ranked = candidates[np.argsort(score_C, kind="stable")].tolist()
    ids = list(islice((number for number in ranked if number not in left_out), top))
    return list(zip(tokenizer.decode(ids), np.exp(log_p_V[ids]).tolist(), strict=True))


def folded(tokenizer: Tokenizer, prefix: str) -> str:
    """The letters as the tokenizer writes those of a word: composed, and in lower case if it folds case."""
    return "".join(tokenizer.words(prefix))


def spelt(tokenizer: Tokenizer, word: str) -> str:
    """The word as the tokenizer writes it; as it is, if the tokenizer leaves nothing of it."""
    return folded(tokenizer, word) or word


def blocklist(lines: Iterable[str]) -> frozenset[str]:
    """The words of a list, one a line; blank lines are none."""
    return frozenset(filter(None, map(str.strip, lines)))
