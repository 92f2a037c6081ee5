"""The likeliest next words of a phrase, and what a word that is being typed may become.

`next_words` is what `wordtie predict`, `LoadedModel` and the server call. To predict while someone types, keep the
state between words:

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
from wordtie.evaluation.perplexity import TOKENS_AT_ONCE
from wordtie.models.next_word import Floats, NextWordModel, S

CURSOR = "|"
"""Mark at the end of a text whose last word is not finished."""


def lines_of(text: str) -> list[str]:
    """Split a text into lines as in a file: at Unix and Windows line ends and at nothing else; a byte-order mark at the
    start is removed.

    Raises `SettingsError` for anything but one string, and for a text with old Mac line ends.
    """
    require(isinstance(text, str), f"give one string, its lines parted by \\n, got a {type(text).__name__}")
    require(
        "\r" not in text.rstrip() or "\n" in text.rstrip(), r"the text has old Mac line ends, \r: replace them by \n"
    )
    return text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n").split("\n")


def as_file(text: str) -> str:
    """Return the text as a file would have it, with a line end at its end whether or not it had one."""
    return "\n".join(lines_of(text)) + "\n"


def words_of(tokenizer: Tokenizer, text: str) -> list[str]:
    """Return the words of a phrase, with `<eos>` where a line ends within it, if lines are sentences."""
    text = "\n".join(lines_of(text))
    return tokenizer.tokenisation.tokens(text) if tokenizer.sentences else tokenizer.words(text)


def read(model: NextWordModel[S], tokenizer: Tokenizer, text: str) -> S:
    """Return the state after the phrase, which starts from `<eos>`."""
    return step(model, tokenizer, text, model.initial_state(1))


def step(model: NextWordModel[S], tokenizer: Tokenizer, text: str, state: S) -> S:
    """Return the state after more text, which begins and ends between words."""
    return after(model, tokenizer, words_of(tokenizer, text), state)


def after(model: NextWordModel[S], tokenizer: Tokenizer, words: Sequence[str], state: S) -> S:
    """Return the state after these words, read in pieces, so that memory does not grow with their number."""
    for first in range(0, len(words), TOKENS_AT_ONCE):
        piece = words[first : first + TOKENS_AT_ONCE]
        state = model.advance(tokenizer.vocabulary.encode(piece)[:, None], state)
    return state


def predict(
    model: NextWordModel[Any],
    tokenizer: Tokenizer,
    text: str,
    top: int = 10,
    words_only: bool = False,
    blocked: Collection[str] = (),
) -> list[tuple[str, float]]:
    """Return (word, probability) of the words that may follow a phrase, likeliest first.

    If the text ends in `|`, the cursor, the word before it is still being typed (`at_cursor`). The options are those of
    `next_words`.
    """
    words, prefix = at_cursor(tokenizer, text)
    state = after(model, tokenizer, words, model.initial_state(1))
    return next_words(model, tokenizer, state, prefix, top, words_only, blocked)


def at_cursor(tokenizer: Tokenizer, text: str) -> tuple[list[str], str]:
    """Return (the words before the cursor, the first letters of the word that is being typed).

    The cursor is a `|` at the end of the text. Without one, and after white space or punctuation, no word is being
    typed. A prefix may span what would be several words, if a word of the vocabulary begins with it: `don'` is a prefix
    of `don't`.
    """
    lines_of(text)  # refuses what is no text
    before = text.removesuffix(CURSOR)
    closes = "\n" if before != text and before.endswith("\n") else ""  # the cursor is on a line of its own
    words = words_of(tokenizer, before + closes)
    if before == text or before[-1:].isspace() or not words:
        return words, ""
    typed = tokenizer.words(before.split()[-1])
    if not typed:  # characters that are not shown, after white space
        return words, ""
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
    """Return (word, probability) of the words that begin with the prefix, likeliest first.

    `words_only` leaves out `<unk>` and `<eos>`; `blocked` is a list of words to leave out, in any case. This does not
    change the other probabilities: they are those of the word given what was read, not given the prefix. Raises
    `SettingsError` for a `top` that is not a whole number of at least 1, and for a string in place of a list of words.
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
    """Return what `next_words` returns, given log p of each word, (V,); words of equal probability are sorted by id."""
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
    """Return the prefix as the tokenizer would write it: composed, and in lower case if it folds case."""
    return "".join(tokenizer.words(prefix))


def spelt(tokenizer: Tokenizer, word: str) -> str:
    """Return the word as the tokenizer writes it; unchanged, if the tokenizer leaves nothing of it.

    Several words stay several, and are none of the vocabulary's.
    """
    return " ".join(folded(tokenizer, part) for part in word.split()).strip() or word


def blocklist(lines: Iterable[str]) -> frozenset[str]:
    """Return the words of a list with one word per line; blank lines are ignored."""
    return frozenset(filter(None, map(str.strip, lines)))
