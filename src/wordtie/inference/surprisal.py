"""Surprisal: how unexpected each word is, given the words before it, in bits (Shannon 1948; Hale 2001).

    surprisal(w) = -log2 p(w | words before)        entropy = -sum over v of p(v) log2 p(v)

Every line starts afresh from `<eos>` (reset `line`), or context is carried across lines: up to a blank one (`blank`),
or to the end of the text (`never`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby, islice
from typing import Any, Literal, TypeAlias, get_args

from wordtie.data.batches import Ids
from wordtie.data.reading import pieces
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import EOS
from wordtie.errors import require
from wordtie.evaluation.perplexity import TOKENS_AT_ONCE, Reader
from wordtie.models.next_word import NextWordModel

Reset: TypeAlias = Literal["line", "blank", "never"]
Place: TypeAlias = tuple[int, int, int, str]
"""Line, position in it, region in it, and word."""


@dataclass(frozen=True)
class WordSurprisal:
    """One word of a text."""

    line: int
    """Number of the line, from 1."""
    position: int
    """Number of the word in the line, from 1."""
    region: int
    """Number of the stretch between white space that the word is, or is a part of, from 1: punctuation that is a word
    of its own shares the region of the word that it touches. `<eos>` is a region by itself at the end of a line; within
    a line it has the number of the word after it."""
    word: str
    """The word after tokenisation (in lower case, if the model folds case), or `<eos>` at the end of a sentence."""
    id: int
    oov: bool
    """Whether the word is outside the vocabulary, and scored as `<unk>`."""
    surprisal_bits: float
    entropy_bits: float
    """Entropy of the prediction in bits, before the word was seen."""


def surprisal(
    model: NextWordModel[Any], tokenizer: Tokenizer, lines: Iterable[str], reset: Reset = "line"
) -> Iterator[WordSurprisal]:
    """Yield one record per word, and one for `<eos>` after each line if the model was trained on sentences; if it was
    trained on running text, one at the end of the text with reset `never`. Blank lines between passages have none.

    A line end within a line, as in the cell of a table, ends a sentence but not the line.

    The lines are read as the records are taken, a window of words at a time, so that memory does not grow with the
    length of the text.
    """
    reader = Reader(model)
    numbered = enumerate(lines, 1)
    require(reset in get_args(Reset), f"reset must be line, blank or never, got {reset!r}")
    if reset == "never":
        yield from _scored(reader, tokenizer, _text(tokenizer, numbered))
        return
    if reset == "line":
        yield from _side_by_side(reader, tokenizer, numbered)
        return
    for passage in _passages(numbered):
        reader.start()
        places = (places_of(tokenizer, number, line) for number, line in passage)
        yield from _scored(reader, tokenizer, chain.from_iterable(places))


def texts_of(tokenizer: Tokenizer, lines: Iterable[str], reset: Reset = "line") -> list[list[Place]]:
    """Return all texts that `surprisal` scores: lists of words, each scored from an empty context."""
    numbered = enumerate(lines, 1)
    require(reset in get_args(Reset), f"reset must be line, blank or never, got {reset!r}")
    if reset == "never":
        texts = [list(_text(tokenizer, numbered))]
    elif reset == "line":
        texts = [list(places_of(tokenizer, number, line)) for number, line in numbered]
    else:
        passages = _passages(numbered)
        texts = [[place for number, line in each for place in places_of(tokenizer, number, line)] for each in passages]
    return [text for text in texts if text]


def _passages(numbered: Iterable[tuple[int, str]]) -> Iterator[Iterable[tuple[int, str]]]:
    """Yield the passages: the lines between blank ones."""
    for has_words, lines in groupby(numbered, key=lambda each: bool(each[1].strip())):
        if has_words:
            yield lines


def _text(tokenizer: Tokenizer, numbered: Iterable[tuple[int, str]]) -> Iterator[Place]:
    """Yield the words of all lines, and for running text the `<eos>` at its end, as `evaluate` counts them."""
    number, position, region = 1, 0, 0
    for number, line in numbered:
        position, region = 0, 0
        for place in places_of(tokenizer, number, line):
            yield place
            _, position, region, _ = place
    if not tokenizer.sentences:
        yield number, position + 1, region + 1, EOS


def places_of(tokenizer: Tokenizer, number: int, line: str) -> Iterator[Place]:
    """Yield the words of a line, each with its place, and `<eos>` where a sentence ends."""
    position = region = 0
    for sentence in line.split("\n"):
        for stretch in chain.from_iterable(map(str.split, pieces(sentence))):
            region += 1
            for word in tokenizer.words(stretch):
                position += 1
                yield number, position, region, word
        if tokenizer.sentences:
            position += 1
            yield number, position, region + 1, EOS


def _side_by_side(reader: Reader, tokenizer: Tokenizer, numbered: Iterable[tuple[int, str]]) -> Iterator[WordSurprisal]:
    """Score each line from an empty context: as many at once as fit a window, and one that does not fit by itself."""
    together: list[list[Place]] = []
    longest = 0
    for number, line in numbered:
        words = places_of(tokenizer, number, line)
        places = list(islice(words, TOKENS_AT_ONCE))
        longest = max(longest, len(places))
        while together and longest * (len(together) + 1) > TOKENS_AT_ONCE:
            whole = 1 << len(together).bit_length() - 1  # what `apart` need not fill up
            yield from _apart(reader, tokenizer, together[:whole])
            together = together[whole:]
            longest = max(map(len, [*together, places]))
        if len(places) == TOKENS_AT_ONCE:
            reader.start()
            yield from _scored(reader, tokenizer, chain(places, words))
            longest = 0
        elif places:
            together.append(places)
    if together:
        yield from _apart(reader, tokenizer, together)


def _apart(reader: Reader, tokenizer: Tokenizer, lines: list[list[Place]]) -> Iterator[WordSurprisal]:
    ids_of = [tokenizer.vocabulary.encode(word for *_, word in places) for places in lines]
    for places, ids, (bits, entropy) in zip(lines, ids_of, reader.apart(ids_of), strict=True):
        yield from records_of(tokenizer, places, ids, zip(bits, entropy, strict=True))


def _scored(reader: Reader, tokenizer: Tokenizer, words: Iterator[Place]) -> Iterator[WordSurprisal]:
    """Score the words, continuing from the state of the reader."""
    while places := list(islice(words, TOKENS_AT_ONCE)):
        ids = tokenizer.vocabulary.encode(word for *_, word in places)
        rows = (pair for piece in reader(ids) for pair in zip(*piece, strict=True))
        yield from records_of(tokenizer, places, ids, rows)


def records_of(
    tokenizer: Tokenizer, places: list[Place], ids: Ids, rows: Iterable[tuple[float, float]]
) -> Iterator[WordSurprisal]:
    """Yield a record for each word, from its place, its id, and its surprisal and entropy in bits."""
    for (line, position, region, word), word_id, (bits, entropy) in zip(places, ids, rows, strict=True):
        oov = word not in tokenizer.vocabulary
        yield WordSurprisal(line, position, region, word, int(word_id), oov, float(bits), float(entropy))
