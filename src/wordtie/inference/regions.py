"""Surprisal per region: one value for each word as readers saw it, and for the words before it.

A region is a stretch between white space, as programs for self-paced reading (Ibex, PCIbex) show a sentence that is
given as one string, or what lies between two marks, if its regions are marked. The model's tokens are parts of it:

    surprisal_bits(region) = sum over its parts of -log2 p(part | everything before it)

`word_surprisal_bits` leaves out the parts that are punctuation alone. Entropy reduction is the entropy before the
region less the entropy after it (Hale 2006, who sets it to 0 if it is negative; here it keeps its sign).
"""

from __future__ import annotations

import dataclasses
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, tee
from typing import TYPE_CHECKING, Any

from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import require
from wordtie.inference.surprisal import Reset, WordSurprisal, surprisal

if TYPE_CHECKING:
    from wordtie.inference.frequencies import Frequencies
    from wordtie.inference.loading import LoadedModel

Values = dict[str, Any]
"""Values of a row, by column."""


@dataclass(frozen=True)
class ShownLine:
    """A line of text, and the regions in which readers saw it."""

    text: str
    regions: Sequence[str]
    """Regions in order; joined by white space they are the text."""

    @classmethod
    def of(cls, text: str, mark: str | None = None) -> ShownLine:
        """Split a text into regions at white space, or at marks, which are removed from the text.

        Raises `SettingsError` for an empty mark.

        >>> ShownLine.of("The old king | was asleep.", "|")
        ShownLine(text='The old king was asleep.', regions=['The old king', 'was asleep.'])
        """
        if mark is None:
            return cls(text, text.split())
        require(mark != "", "mark is empty: give the character that parts regions, or None for white space")
        lines = [[piece.strip() for piece in line.split(mark) if piece.strip()] for line in text.split("\n")]
        return cls("\n".join(map(" ".join, lines)), [*chain.from_iterable(lines)])


@dataclass(frozen=True)
class Region:
    """One region of a line."""

    region: int
    """Number of the region in the line, from 1."""
    word: str
    """Text of the region as it was shown."""
    surprisal_bits: float | None
    """Surprisal of its parts, in bits. Optional values are None if the tokenisation leaves nothing of the region."""
    word_surprisal_bits: float | None
    """Surprisal without punctuation, in bits; the same as `surprisal_bits` for a region of punctuation alone."""
    oov: bool
    """Whether one of its parts is outside the vocabulary."""
    word_length: int
    """Number of characters, without punctuation at the edges."""
    log_frequency: float | None
    """log10 of occurrences per million known words of training text (`wordtie.inference.frequencies`), of its rarest
    word."""
    entropy_bits: float | None
    """Entropy of the prediction in bits, before the region was seen."""
    entropy_reduction_bits: float | None
    """Entropy before minus after the region, in bits; None at the end of a line if the model has no `<eos>` there."""


AVERAGED = ("surprisal_bits", "word_surprisal_bits", "entropy_bits", "entropy_reduction_bits")
"""Values that differ between models of several seeds."""
AVERAGED_OF_TOKENS = ("surprisal_bits", "entropy_bits")
PREDICTORS = ("surprisal_bits", "word_surprisal_bits", "oov", "word_length", "log_frequency",
              "entropy_bits", "entropy_reduction_bits")  # fmt: skip
"""Values that a region takes over from the regions before it."""


def regions(
    loaded: LoadedModel, lines: Iterable[ShownLine], reset: Reset = "line", frequencies: Frequencies | None = None
) -> Iterator[list[Region]]:
    """Yield the regions of each line; lines that `reset="blank"` takes as blank have none."""
    lines, texts = tee(lines)
    records = surprisal(loaded.model, loaded.tokenizer, (line.text for line in texts), reset)
    groups = groupby(records, key=lambda record: record.line)
    number, parts = next(groups, (0, iter(())))
    for here, line in enumerate(lines, 1):
        found: list[WordSurprisal] = []
        if number == here:
            found = list(parts)
            number, parts = next(groups, (0, iter(())))
        yield [*_regions_of(line, found, loaded.tokenizer, frequencies)]


def _regions_of(
    line: ShownLine, records: Sequence[WordSurprisal], tokenizer: Tokenizer, frequencies: Frequencies | None
) -> Iterator[Region]:
    ends = _ends_of_sentences(line.text) if tokenizer.sentences else Counter()
    at, stretches = ends[0], 0
    for number, shown in enumerate(line.regions, 1):
        pieces = shown.split()
        words = [word for piece in pieces for word in tokenizer.words(piece)]
        parts, after = records[at : at + len(words)], at + len(words)
        stretches += len(pieces)
        yield _region(number, shown, parts, records[after : after + 1], frequencies)
        at = after + ends[stretches]


def _ends_of_sentences(text: str) -> Counter[int]:
    """Count the sentences that end after each number of stretches of a passage: several where a line is empty."""
    ends: Counter[int] = Counter()
    count = 0
    for sentence in text.split("\n"):
        count += len(sentence.split())
        ends[count] += 1
    return ends


def _region(
    number: int,
    shown: str,
    parts: Sequence[WordSurprisal],
    after: Sequence[WordSurprisal],
    frequencies: Frequencies | None,
) -> Region:
    words = [part for part in parts if _is_word(part.word)] or list(parts)
    return Region(
        region=number,
        word=shown,
        surprisal_bits=sum(part.surprisal_bits for part in parts) if parts else None,
        word_surprisal_bits=sum(part.surprisal_bits for part in words) if parts else None,
        oov=any(part.oov for part in parts),
        word_length=length_of(shown),
        log_frequency=min(frequencies.of(part.word) for part in words) if parts and frequencies else None,
        entropy_bits=parts[0].entropy_bits if parts else None,
        entropy_reduction_bits=parts[0].entropy_bits - after[0].entropy_bits if parts and after else None,
    )


def _is_word(text: str) -> bool:
    return any(map(str.isalnum, text))


def length_of(shown: str) -> int:
    """Count the characters from the first to the last letter or digit; in a region that has none, all of them.

    Accents and vowel signs that combine with a letter count as part of it, invisible characters not at all.

    >>> [length_of(word) for word in ('"Don\\'t,', "1,000.", "—", "e\u0301te\u0301", "un\u00adhappy")]
    [5, 5, 1, 3, 7]
    """
    kinds = [unicodedata.category(character)[0:2] for character in unicodedata.normalize("NFC", shown)]
    seen = [kind for kind in kinds if kind[0] != "M" and kind != "Cf"]
    places = [place for place, kind in enumerate(seen) if kind[0] in "LN"]
    return places[-1] - places[0] + 1 if places else len(seen)


def token_rows(models: Sequence[LoadedModel], lines: Iterable[str], reset: Reset = "line") -> Iterator[Values]:
    """Yield the records of `surprisal` as rows, averaged over several models, which must have the same tokenizer."""
    same_tokenizer(models)
    copies = tee(lines, len(models))
    found = [surprisal(m.model, m.tokenizer, copy, reset) for m, copy in zip(models, copies, strict=True)]
    for same in zip(*found, strict=True):
        yield mean_of([dataclasses.asdict(record) for record in same], AVERAGED_OF_TOKENS)


def region_rows(
    models: Sequence[LoadedModel],
    lines: Iterable[ShownLine],
    reset: Reset = "line",
    frequencies: Frequencies | None = None,
    spillover: int = 0,
) -> Iterator[Values]:
    """Yield the regions of all lines as rows: the mean of several models, and the values of preceding regions.

    `NAME_prev1` is the value of the preceding region in the line, `NAME_prev2` of the one before that; at the start of
    a line they are None. Several models must have the same tokenizer. Raises `SettingsError`.
    """
    same_tokenizer(models)
    copies = tee(lines, len(models))
    found = [regions(model, copy, reset, frequencies) for model, copy in zip(models, copies, strict=True)]
    for line, of_models in enumerate(zip(*found, strict=True), 1):
        rows = [
            mean_of([dataclasses.asdict(region) for region in same], AVERAGED) for same in zip(*of_models, strict=True)
        ]
        for place, row in enumerate(rows):
            yield {"line": line} | row | _before(rows[max(0, place - spillover) : place], spillover)


def _before(rows: Sequence[Values], spillover: int) -> Values:
    return {
        f"{name}_prev{back}": rows[-back][name] if len(rows) >= back else None
        for back in range(1, spillover + 1)
        for name in PREDICTORS
    }


def token_columns(models: int) -> list[str]:
    """Return the columns of `token_rows`, in order."""
    names = [field.name for field in dataclasses.fields(WordSurprisal)]
    return names + [f"{name}_sd" for name in AVERAGED_OF_TOKENS if models > 1]


def region_columns(models: int, spillover: int) -> list[str]:
    """Return the columns of `region_rows`, in order."""
    names = ["line", *(field.name for field in dataclasses.fields(Region))]
    return names + [f"{name}_sd" for name in AVERAGED if models > 1] + list(_before([], spillover))


def same_tokenizer(models: Sequence[LoadedModel]) -> None:
    """Raise `SettingsError` for models that split text differently, or into other words."""
    same = all(model.tokenizer == models[0].tokenizer for model in models)
    require(same, "a mean needs models of one vocabulary, such as several seeds of one training: score each alone")


def mean_of(rows: Sequence[Values], names: Sequence[str]) -> Values:
    """Average the rows of several models for the same word; NAME_sd is the standard deviation (n - 1)."""
    if len(rows) == 1:
        return rows[0]
    from statistics import mean, stdev  # slow to load, and of use here alone

    row = dict(rows[0])
    for name in names:
        values = [each[name] for each in rows]
        there = None not in values
        row[name] = mean(values) if there else None
        row[f"{name}_sd"] = stdev(values) if there else None
    return row
