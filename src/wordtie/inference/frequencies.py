"""Log frequencies of words: the predictor that surprisal must improve on.

    log frequency(w) = log10((c(w) + 1) / (N + V) * 10^6)

c(w) of N tokens of V words: occurrences per million, with one added to each count, so that a word that was never seen
has a value, too (van Heuven et al. 2014). N and V are of the words that are counted: of a training text those of the
vocabulary, without `<unk>` and `<eos>`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from wordtie.data.table import check_one_line, read_table
from wordtie.errors import DataError
from wordtie.inference.predict import spelt
from wordtie.inference.training_corpus import training_corpus, with_extended
from wordtie.models.mixture import Mixture
from wordtie.ngrams.model import NgramModel
from wordtie.storage.strict_json import MOST_DIGITS

if TYPE_CHECKING:
    from wordtie.data.tokenizer import Tokenizer
    from wordtie.inference.loading import LoadedModel


@dataclass(frozen=True)
class Frequencies:
    """Counts of words.

    >>> round(Frequencies({"the": 98, "cat": 0}).of("the"), 4)
    5.9956
    """

    counts: Mapping[str, int]
    lower: bool = False
    """Whether a word that has no count takes that of its lower-case form."""
    missing: Counter[str] = field(default_factory=Counter, compare=False, repr=False)
    """Words without a count that were asked for, and how often."""

    def of(self, word: str) -> float:
        """Return log10 of a word's occurrences per million; a word that is not counted has a count of 0."""
        count = self.counts.get(word)
        if count is None and self.lower:
            count = self.counts.get(word.lower())
        if count is None:
            self.missing[word] += 1
            count = 0
        return math.log10((count + 1) * 1e6 / self._total)

    @cached_property
    def _total(self) -> int:
        return sum(self.counts.values()) + len(self.counts)


def training_frequencies(loaded: LoadedModel) -> Frequencies:
    """Counts of the model's training text, and of those of the models that it extends.

    A word outside the vocabulary has a count of 0. Raises `RunFolderError` or `DataError` if a text is no longer there,
    or has changed.
    """
    hint = "give counts with --frequencies"
    data = with_extended(loaded, training_corpus(loaded, loaded.folder or "the model", ["train"], hint), hint)
    vocabulary = loaded.tokenizer.vocabulary
    count_V = np.bincount(data.train, minlength=len(vocabulary))
    special = (vocabulary.unk_id, vocabulary.eos_id)
    return Frequencies({word: int(count_V[n]) for n, word in enumerate(vocabulary.words) if n not in special})


def by_frequency(loaded: LoadedModel, estimated: bool = False) -> Sequence[int] | None:
    """Return the ids of a model's words, the most frequent first; None if their frequencies are not known.

    A vocabulary built from a text is numbered by decreasing count. Those of other programs have other orders, and
    extended ones have their new words last: then an n-gram model of order 1 gives the order, if there is one.
    `estimated`: so do the unigrams of longer n-grams, although Kneser and Ney's are not frequencies: they count the
    different words before a word, which are few for `Francisco`.
    """
    if loaded.texts and loaded.settings.data.extends is None:
        return range(len(loaded.tokenizer.vocabulary))
    for part in loaded.model.parts if isinstance(loaded.model, Mixture) else (loaded.model,):
        if isinstance(part, NgramModel) and (estimated or part.trie.order == 1):
            order: list[int] = np.argsort(-part.trie.unigram, kind="stable").tolist()
            return order
    return None


def read_frequencies(
    lines: Iterable[str], where: str, tokenizer: Tokenizer | None = None, lower: bool = False
) -> Frequencies:
    """Read counts from a table with columns `word` and `count`; words are spelt as the tokenizer writes them.

    `lower`: a word that the table has only in lower case is found in any case. Raises `DataError`.
    """
    table = read_table(lines, where)
    word, count = table.place("word"), table.place("count")
    counts: dict[str, int] = {}
    for row in table.rows:
        if not row.cells[count].strip().isdecimal() or len(row.cells[count].strip()) > MOST_DIGITS:
            what = f"a whole number of at most {MOST_DIGITS} digits"
            raise DataError(f"{where}, line {row.line}: count {row.cells[count]!r:.40} is not {what}: fix the row")
        check_one_line(where, row, "word", row.cells[word])
        cell = row.cells[word].strip()
        own = cell if tokenizer is None else spelt(tokenizer, cell)
        counts[own] = counts.get(own, 0) + int(row.cells[count])
    if not counts:
        raise DataError(f"{where}: has no counts, only a header: give one word a row")
    return Frequencies(counts, lower)
