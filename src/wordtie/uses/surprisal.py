"""Surprisal: how unexpected each word is, given the words before it, in bits (Shannon 1948; Hale 2001).

    surprisal(w) = -log2 p(w | words before)        entropy = -sum over v of p(v) log2 p(v)

Context is carried across lines (`never` reset), or every line starts afresh from `<eos>` (`line`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from wordtie.evaluation.perplexity import token_scores
from wordtie.models.language_model import LanguageModel
from wordtie.text.tokenizer import Tokenizer

Reset: TypeAlias = Literal["line", "never"]


@dataclass(frozen=True)
class WordSurprisal:
    """One word of a text."""

    line: int
    """From 1."""
    position: int
    """In the line, from 1."""
    word: str
    """As in the text, or `<eos>` at the end of a sentence."""
    id: int
    oov: bool
    """Not in the vocabulary: scored as `<unk>`."""
    surprisal_bits: float
    entropy_bits: float
    """Of the prediction, before the word was seen."""


def surprisal(
    model: LanguageModel, tokenizer: Tokenizer, lines: Iterable[str], reset: Reset = "line"
) -> Iterator[WordSurprisal]:
    """One record a word, and one for `<eos>` after each line where the model was trained on sentences."""
    if reset == "line":
        for number, line in enumerate(lines, 1):
            yield from _scored(model, tokenizer, [(number, line)])
    else:
        yield from _scored(model, tokenizer, enumerate(lines, 1))


def _scored(model: LanguageModel, tokenizer: Tokenizer, lines: Iterable[tuple[int, str]]) -> Iterator[WordSurprisal]:
    vocabulary = tokenizer.vocabulary
    end = [vocabulary.words[vocabulary.eos_id]] if tokenizer.sentences else []
    places: list[tuple[int, int, str]] = []
    for number, line in lines:
        places += [(number, n, word) for n, word in enumerate([*tokenizer.words(line), *end], 1)]
    if not places:
        return
    ids = vocabulary.encode(word for _, _, word in places)
    scores = token_scores(model, np.asarray(ids), vocabulary.eos_id)
    rows = (pair for piece in scores for pair in zip(*piece, strict=True))
    for (line_number, position, word), word_id, (bits, entropy) in zip(places, ids, rows, strict=True):
        oov = word not in vocabulary
        yield WordSurprisal(line_number, position, word, int(word_id), oov, float(bits), float(entropy))
