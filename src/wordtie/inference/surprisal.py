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
"""Line, position and region in it, word."""


@dataclass(frozen=True)
class WordSurprisal:
    """One word of a text."""

    line: int
    """From 1."""
    position: int
    """In the line, from 1."""
    region: int
    """Which stretch between white space of the line the word is, or is a part of, from 1: punctuation that is a word of
    its own shares the region of the word that it touches. `<eos>` is one by itself at
    the end of a line; within one it has the number of the word after it."""
    word: str
    """As the tokenisation makes it (in lower case, where the model folds case), or `<eos>` at the end of a sentence."""
    id: int
    oov: bool
    """Not in the vocabulary: scored as `<unk>`."""
    surprisal_bits: float
    entropy_bits: float
    """Of the prediction, before the word was seen."""


def surprisal(
    model: NextWordModel[Any], tokenizer: Tokenizer, lines: Iterable[str], reset: Reset = "line"
) -> Iterator[WordSurprisal]:
    """One record a word, and one for `<eos>` after each line where the model was trained on sentences; where it was
    trained on running text, one at the end of a text that is not `reset`. Blank lines that part passages have none.

    A line end within a line, as a cell of a table may have, ends a sentence and no line.

    The lines are read as the records are taken, a window of words at a time, so that a text of any length needs the
    same memory.
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
    """What `surprisal` scores, all at once: the stretches of words before each of which it starts afresh."""
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
    """The lines between blank ones."""
    for has_words, lines in groupby(numbered, key=lambda each: bool(each[1].strip())):
        if has_words:
            yield lines


def _text(tokenizer: Tokenizer, numbered: Iterable[tuple[int, str]]) -> Iterator[Place]:
    """All lines, and of running text the `<eos>` at its end, as `evaluate` counts them."""
    number, position, region = 1, 0, 0
    for number, line in numbered:
        position, region = 0, 0
        for place in places_of(tokenizer, number, line):
            yield place
            _, position, region, _ = place
    if not tokenizer.sentences:
        yield number, position + 1, region + 1, EOS


def places_of(tokenizer: Tokenizer, number: int, line: str) -> Iterator[Place]:
    """The words of a line, each with its place, and `<eos>` where a sentence ends."""
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
    """Each line from nothing: as many at once as fit a window, one that does not fit by itself."""
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
    """The words, read on from where the reader is."""
    while places := list(islice(words, TOKENS_AT_ONCE)):
        ids = tokenizer.vocabulary.encode(word for *_, word in places)
        rows = (pair for piece in reader(ids) for pair in zip(*piece, strict=True))
        yield from records_of(tokenizer, places, ids, rows)


def records_of(
    tokenizer: Tokenizer, places: list[Place], ids: Ids, rows: Iterable[tuple[float, float]]
) -> Iterator[WordSurprisal]:
    """The words with their ids, surprisal and entropy in bits."""
    for (line, position, region, word), word_id, (bits, entropy) in zip(places, ids, rows, strict=True):
        oov = word not in tokenizer.vocabulary
        yield WordSurprisal(line, position, region, word, int(word_id), oov, float(bits), float(entropy))
