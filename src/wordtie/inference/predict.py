"""The likeliest next words of a phrase."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import require
from wordtie.models.next_word import NextWordModel, S


def lines_of(text: str) -> list[str]:
    """The lines of a text as files have them: ended by a line end, Unix or Windows, and by nothing else; a byte-order
    mark before them is taken off.

    Raises `SettingsError` for what is not one string.
    """
    require(isinstance(text, str), f"give one string, its lines parted by \\n, got a {type(text).__name__}")
    require("\r" not in text.rstrip() or "\n" in text, r"the text has old Mac line ends, \r: replace them by \n")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n").split("\n")


def words_of(tokenizer: Tokenizer, text: str) -> list[str]:
    """The words of a phrase: `<eos>` where a line ends within it, if lines are sentences."""
    text = "\n".join(lines_of(text))
    return tokenizer.tokenisation.tokens(text) if tokenizer.sentences else tokenizer.words(text)


def read(model: NextWordModel[S], tokenizer: Tokenizer, text: str) -> S:
    """The state after the phrase, which starts from `<eos>`."""
    ids = tokenizer.vocabulary.encode(words_of(tokenizer, text))
    return model.advance(ids[:, None], model.initial_state(1))


def predict(
    model: NextWordModel[Any], tokenizer: Tokenizer, text: str, top: int = 10, words_only: bool = False
) -> list[tuple[str, float]]:
    """(word, probability), likeliest first; `words_only` leaves out `<unk>` and `<eos>`, the others' probabilities
    stay what they are. Raises `SettingsError` for a `top` that is not a whole number of at least 1."""
    require(isinstance(top, Integral) and top >= 1, f"top must be a whole number of at least 1, got {top}")
    special = [tokenizer.vocabulary.unk_id, tokenizer.vocabulary.eos_id] if words_only else []
    log_p_V = model.next(read(model, tokenizer, text))[0]
    ids = [number for number in np.argsort(-log_p_V, kind="stable").tolist() if number not in special][: int(top)]
    return list(zip(tokenizer.decode(ids), np.exp(log_p_V[ids]).tolist(), strict=True))
