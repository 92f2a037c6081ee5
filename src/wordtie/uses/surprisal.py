"""Surprisal: how unexpected each word is, given the words before it, in bits (Shannon 1948; Hale 2001).

    surprisal(w) = -log2 p(w | words before)        entropy = -sum over v of p(v) log2 p(v)

Context is carried across lines (`never` reset), or every line starts afresh from `<eos>` (`line`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from wordtie.evaluation.perplexity import TOKENS_AT_ONCE, Reader
from wordtie.models.language_model import LanguageModel
from wordtie.text.tokenizer import Tokenizer
from wordtie.text.vocabulary import EOS

Reset: TypeAlias = Literal["line", "never"]
Place: TypeAlias = tuple[int, int, str]
"""Line, position in it, word."""


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
    """One record a word, and one for `<eos>` after each line where the model was trained on sentences.

    The lines are read as the records are taken, a block of words at a time, so that a text of any length needs the
    same memory.
    """
    if reset == "line":
        for number, line in enumerate(lines, 1):
            yield from _scored(Reader(model, tokenizer.vocabulary.eos_id), tokenizer, _places(tokenizer, number, line))
        return
    reader = Reader(model, tokenizer.vocabulary.eos_id)
    block: list[Place] = []
    for number, line in enumerate(lines, 1):
        block += _places(tokenizer, number, line)
        if len(block) >= TOKENS_AT_ONCE:
            yield from _scored(reader, tokenizer, block)
            block = []
    yield from _scored(reader, tokenizer, block)


def _places(tokenizer: Tokenizer, number: int, line: str) -> list[Place]:
    end = [EOS] if tokenizer.sentences else []
    return [(number, position, word) for position, word in enumerate([*tokenizer.words(line), *end], 1)]


def _scored(reader: Reader, tokenizer: Tokenizer, places: list[Place]) -> Iterator[WordSurprisal]:
    """The words of the places, read on from where the reader is."""
    vocabulary = tokenizer.vocabulary
    ids = vocabulary.encode(word for _, _, word in places)
    rows = (pair for piece in reader(ids) for pair in zip(*piece, strict=True))
    for (line, position, word), word_id, (bits, entropy) in zip(places, ids, rows, strict=True):
        oov = word not in vocabulary
        yield WordSurprisal(line, position, word, int(word_id), oov, float(bits), float(entropy))
