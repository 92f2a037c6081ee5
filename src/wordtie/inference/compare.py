"""What two models, or more, expect after the same phrases, side by side (inan-2017, table 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from wordtie.data.encoding import encode_file
from wordtie.errors import DataError
from wordtie.evaluation.word_mass import FREQUENT, TextMass, WordMass, text_mass, word_mass
from wordtie.inference.frequencies import by_frequency
from wordtie.inference.loading import LoadedModel
from wordtie.inference.predict import read

Line: TypeAlias = dict[str, object]


@dataclass(frozen=True)
class Expectation:
    """What one model expects after a phrase."""

    top: Sequence[tuple[str, float]]
    """(word, probability), likeliest first."""
    mass: WordMass
    frequent_words: str
    """Description of the words that `mass.frequent` sums up, such as `50 most frequent words`."""
    following: float | None = None
    """Probability of the word that really follows, if it is given; an unknown word has that of `<unk>`."""
    rank: float | None = None
    """Rank of that word by probability, 1 for the likeliest; the mean rank of all words that are as likely."""
    oov: bool | None = None
    """Whether that word is outside the vocabulary."""


@dataclass(frozen=True)
class Comparison:
    """What each model, by name, expects after one phrase."""

    phrase: str
    following: str | None
    models: Mapping[str, Expectation]


def compare_predictions(
    models: Mapping[str, LoadedModel],
    phrase: str,
    following: str | None = None,
    top: int = 10,
    frequent: int = FREQUENT,
) -> Comparison:
    """Compare what models expect after a phrase, given the word that really follows, or None. Raises `DataError`."""
    found = {name: expectation(loaded, phrase, following, top, frequent) for name, loaded in models.items()}
    return Comparison(phrase, following, found)


def expectation(loaded: LoadedModel, phrase: str, following: str | None, top: int, frequent: int) -> Expectation:
    """Compute the expectation after a phrase, read from `<eos>`. Raises `DataError` if `following` is not one word."""
    model, tokenizer = loaded.model, loaded.tokenizer
    probability_V = np.exp(model.next(read(model, tokenizer, phrase))[0])
    ids = np.argsort(-probability_V, kind="stable")[:top]
    order = by_frequency(loaded)
    mass = word_mass(probability_V, tokenizer.vocabulary, frequent, order)
    frequent_words = name_of_frequent(order, frequent)
    pairs = list(zip(tokenizer.decode(ids.tolist()), probability_V[ids].tolist(), strict=True))
    if following is None:
        return Expectation(pairs, mass, frequent_words)
    words = tokenizer.words(following)
    if len(words) != 1:
        made = ", ".join(words) or "nothing"
        raise DataError(
            f"{following!r} must be one word to follow {phrase!r}; the model's tokenisation makes {made} of it"
        )
    own = probability_V[int(tokenizer.vocabulary.encode(words)[0])]
    likelier, alike = int((probability_V > own).sum()), int((probability_V == own).sum())
    rank = likelier + (1 + alike) / 2
    return Expectation(pairs, mass, frequent_words, float(own), rank, words[0] not in tokenizer.vocabulary)


def name_of_frequent(order: Sequence[int] | None, frequent: int) -> str:
    """Return the description of the words that are summed up, given an order of `by_frequency`."""
    return f"first {frequent} words of the vocabulary" if order is None else f"{frequent} most frequent words"


def text_masses(loaded: LoadedModel, path: Path, frequent: int = FREQUENT) -> TextMass:
    """Measure the probability that a model gives to `<unk>` and to the frequent words (`by_frequency`), averaged over
    the tokens of a text file.

    Raises `DataError` if the text cannot be read.
    """
    ids, _ = encode_file(path, loaded.tokenizer)
    return text_mass(loaded.model, ids, frequent, by_frequency(loaded))


def lines(comparisons: Sequence[Comparison]) -> Iterator[Line]:
    """Yield the rows of a table: for each phrase its ranks, then the word that follows, then the probability masses.

    Columns: phrase, rank, and for each model NAME and NAME:probability.
    """
    for each in comparisons:
        models = each.models.items()
        for rank in range(min(len(expected.top) for _, expected in models)):
            yield _line(each.phrase, str(rank + 1), {name: expected.top[rank] for name, expected in models})
        if each.following is not None:
            at = {
                name: (f"{each.following}{' = <unk>' if e.oov else ''} (rank {e.rank:.12g})", e.following)
                for name, e in models
            }
            yield _line(each.phrase, "follows", at)
        yield _line(each.phrase, "mass", {name: ("<unk>", e.mass.unk) for name, e in models})
        yield _line(each.phrase, "mass", {name: (e.frequent_words, e.mass.frequent) for name, e in models})


def _line(phrase: str, rank: str, cells: Mapping[str, tuple[str, float | None]]) -> Line:
    line: Line = {"phrase": phrase, "rank": rank}
    for name, (word, probability) in cells.items():
        line |= {name: word, f"{name}:probability": probability}
    return line
