"""N-best lists of speech recognisers and translation systems, in the text formats in use.

    kaldi    utt-1 the cat sat           a file; scores are in others, in the same order: utt-1 -41.7
    nemo     the cat sat<TAB>-41.7       lists of one size, or with a blank line after each
    moses    0 ||| the cat sat ||| LogP= -4.2 ||| -41.7

JSON formats are in `nbest_json.py`. Lists are read one at a time; ids, order and other parts of a line are kept. A
hypothesis may be empty, and lists may have any number of them. Larger scores are better; costs are negated as they are
read and as they are written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol

from wordtie.errors import DataError

LONGEST_HYPOTHESIS = 1_000_000_000
"""Most bytes in a line, which may hold a whole list."""
FEATURE = "WordtieLM="
"""Name of the model's log p among the features of Moses."""


@dataclass(frozen=True)
class Hypothesis:
    """One hypothesis, and what the format needs to write it again."""

    text: str
    score: float = 0.0
    """Score given by the system that wrote it; larger is better."""
    raw: Any = None


@dataclass(frozen=True)
class NBestList:
    """The hypotheses of one utterance or source sentence, in the order of the file."""

    id: str
    hypotheses: Sequence[Hypothesis]
    raw: Any = None
    line: int = 0
    """Line of the file that the list begins on, where each line has the id; else 0."""


@dataclass(frozen=True)
class Ranked:
    """A hypothesis with a model's score of it."""

    hypothesis: Hypothesis
    log_p: float
    """Log probability under the model, in nats."""
    total: float | None = None
    """Total that it was ranked by; None if it was not ranked."""


@dataclass(frozen=True)
class RankedList:
    """A list in the order in which it is written."""

    nbest: NBestList
    order: Sequence[Ranked]

    @property
    def best_text(self) -> str:
        """Text of the first hypothesis; empty if there is none."""
        return self.order[0].hypothesis.text if self.order else ""


class NBestFormat(Protocol):
    """A format in which lists are read and written."""

    def read(self, lines: Iterable[str], where: str) -> Iterator[NBestList]:
        """Yield the lists of a file; `where` is its name in messages. Raises a `DataError` that names the line."""

    def write(self, lists: Iterable[RankedList]) -> Iterator[str]:
        """Yield lines of the same format with the new scores."""

    def best(self, ranked: RankedList) -> str:
        """Return a line with the first hypothesis alone."""


@dataclass(frozen=True)
class Moses:
    """`id ||| text ||| features ||| total`, as Moses, Joshua and `wordtie translate --n-best` write it.

    Alignments and other fields after the total are kept. Writing adds the model's log p to the features, and gives a
    ranked hypothesis the new total.
    """

    def read(self, lines: Iterable[str], where: str) -> Iterator[NBestList]:
        """Yield lists by their ids, which are whole numbers."""
        return _grouped(self._hypotheses(lines, where), where)

    def _hypotheses(self, lines: Iterable[str], where: str) -> Iterator[tuple[int, str, Hypothesis]]:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            fields = line.split("|||")
            if len(fields) < 4 or not re.fullmatch(r"\d{1,18}", fields[0].strip(), re.ASCII):
                form = "`id ||| text ||| features ||| score`"
                raise DataError(f"{where}, line {number}: is not {form}: fix the line, or choose another --format")
            yield number, fields[0].strip(), Hypothesis(fields[1].strip(), score_of(fields[3], where, number), fields)

    def write(self, lists: Iterable[RankedList]) -> Iterator[str]:
        """Yield lines with the model's log p among the features."""
        for each in (ranked for of_list in lists for ranked in of_list.order):
            fields = list(each.hypothesis.raw)
            fields[2] = f" {fields[2].strip()} {FEATURE} {each.log_p:.6f} ".replace("  ", " ")
            if each.total is not None:
                end = "" if len(fields) == 4 else " "
                fields[3] = f" {each.total:.6f}{end}"
            yield "|||".join(fields)

    def best(self, ranked: RankedList) -> str:
        """Return the text of the first hypothesis."""
        return ranked.best_text


@dataclass(frozen=True)
class Nemo:
    """`text<TAB>score`. The file does not name its lists: each has `list_size` lines, or a blank line follows it.
    Of two blank lines in a row, the second is a list without hypotheses.

    Writing adds the model's log p as one more column and, if the list was ranked, the total as the last.
    """

    list_size: int | None = None

    def read(self, lines: Iterable[str], where: str) -> Iterator[NBestList]:
        """Yield lists, numbered from 0."""
        hypotheses: list[Hypothesis] = []
        lists, number, blanks = 0, 0, False
        for number, line in enumerate(lines, 1):
            if self.list_size is None and not line.strip(" "):
                blanks = True
            else:
                hypotheses.append(self._hypothesis(line, where, number))
                if len(hypotheses) != self.list_size:
                    continue
            yield NBestList(str(lists), hypotheses)
            lists, hypotheses = lists + 1, []
        if hypotheses and self.list_size is not None:
            left = f"{len(hypotheses)} lines are left after lists of {self.list_size}"
            raise DataError(
                f"{where}, line {number}: {left}: give another --list-size, or put blank lines between lists"
            )
        if hypotheses and not blanks:
            raise DataError(f"{where}: does not say where a list ends: give --list-size, or blank lines between lists")
        if hypotheses:
            yield NBestList(str(lists), hypotheses)

    @staticmethod
    def _hypothesis(line: str, where: str, number: int) -> Hypothesis:
        text, tab, rest = line.partition("\t")
        if not tab:
            raise DataError(
                f"{where}, line {number}: is not `text<TAB>score`: fix the line, or choose another --format"
            )
        return Hypothesis(text, score_of(rest.partition("\t")[0], where, number), line)

    def write(self, lists: Iterable[RankedList]) -> Iterator[str]:
        """Yield lines with more columns, and a blank line after each list if lists have no fixed size."""
        for number, ranked in enumerate(lists):
            if number and self.list_size is None:
                yield ""
            for each in ranked.order:
                total = "" if each.total is None else f"\t{each.total:.6f}"
                yield f"{each.hypothesis.raw}\t{each.log_p:.6f}{total}"
        if self.list_size is None:
            yield ""

    def best(self, ranked: RankedList) -> str:
        """Return the text of the first hypothesis."""
        return ranked.best_text


@dataclass(frozen=True)
class Kaldi:
    """`utt-id text`. Lines of one id are a list, and so are neighbours whose ids differ only in a number at the end,
    1 to n in any order: `utt-1`, `utt-2`, `utt-3`, as Kaldi numbers hypotheses.

    Scores are in files of their own, `utt-id score`, a line for each line of the text; several scores are added up.
    """

    scores: Sequence[tuple[str, Iterable[str]]] = ()
    """Name and lines of each file of scores."""
    costs: bool = False
    """Whether scores are costs: less is better."""

    def read(self, lines: Iterable[str], where: str) -> Iterator[NBestList]:
        """Yield lists by utterance."""
        by_id = _grouped(self._hypotheses(lines, where), where)
        for utterance, found in groupby(by_id, key=_utterance):
            if utterance is None:  # one at a time
                yield from found
                continue
            same = list(found)
            numbers = sorted(int(each.id.rpartition("-")[2]) for each in same)
            alone = all(len(each.hypotheses) == 1 for each in same)
            if alone and numbers == list(range(1, len(same) + 1)):
                yield NBestList(utterance, [hypothesis for each in same for hypothesis in each.hypotheses])
            else:
                yield from same

    def _hypotheses(self, lines: Iterable[str], where: str) -> Iterator[tuple[int, str, Hypothesis]]:
        columns = [self._score_lines(text, name) for name, text in self.scores]
        number = 0
        for number, line in enumerate(lines, 1):
            if not line.strip():
                raise DataError(f"{where}, line {number}: is blank: an empty hypothesis has its id alone on the line")
            own, text = after_first_word(line)
            score = 0.0
            for (name, _), column in zip(self.scores, columns, strict=True):
                of, value = next(column, (None, 0.0))
                if of is None:
                    raise DataError(f"{name}: ends before line {number} of {where}: give each line a score")
                if of != own:
                    raise DataError(f"{name}, line {number}: is of {of}, and {where} has {own} there: sort both alike")
                score += value
            yield number, own, Hypothesis(text, -score if self.costs else score, own)
        for (name, _), column in zip(self.scores, columns, strict=True):
            if next(column, None) is not None:
                raise DataError(f"{where}: ends before line {number + 1} of {name}: give each score its text")

    @staticmethod
    def _score_lines(lines: Iterable[str], name: str) -> Iterator[tuple[str, float]]:
        for number, line in enumerate(lines, 1):
            own, value = after_first_word(line)
            yield own, score_of(value, name, number)

    def write(self, lists: Iterable[RankedList]) -> Iterator[str]:
        """Yield `utt-id text` for ranked lists, and otherwise a line of scores or costs, `utt-id log p`."""
        for each in (ranked for of_list in lists for ranked in of_list.order):
            if each.total is not None:
                yield f"{each.hypothesis.raw} {each.hypothesis.text}".rstrip()
            else:
                yield f"{each.hypothesis.raw} {-each.log_p if self.costs else each.log_p:.6f}"

    def best(self, ranked: RankedList) -> str:
        """Return `utterance text`, without the number of the hypothesis."""
        return f"{ranked.nbest.id} {ranked.best_text}".rstrip()


def _utterance(of_id: NBestList) -> str | None:
    """Return the part of an id before the number of the hypothesis; None if the id has no number."""
    found = re.fullmatch(r"(.+)-[1-9]\d*", of_id.id, re.ASCII)
    return found[1] if found else None


def after_first_word(line: str) -> tuple[str, str]:
    """Split a line into an id and what follows it after blanks or tabs.

    >>> after_first_word("utt-1\\tthe cat"), after_first_word("utt-2")
    (('utt-1', 'the cat'), ('utt-2', ''))
    """
    first, *rest = re.split("[ \\t]+", line.strip(), maxsplit=1)
    return first, rest[0] if rest else ""


def score_of(text: str, where: str, number: int) -> float:
    """Return the score that a line holds. Raises `DataError` if it is not a finite number."""
    try:
        if math.isfinite(value := float(text)):
            return value
    except ValueError:
        pass
    raise DataError(f"{where}, line {number}: the score {text.strip()[:40]!r} is not a number: fix the line")


def _grouped(hypotheses: Iterable[tuple[int, str, Hypothesis]], where: str) -> Iterator[NBestList]:
    """Group neighbouring hypotheses of one id into lists. Raises `DataError` for an id that occurs again later."""
    seen: set[str] = set()
    here: list[Hypothesis] = []
    list_id = None
    first = 0
    for number, own, hypothesis in hypotheses:
        if own != list_id:
            if list_id is not None:
                yield NBestList(list_id, here, line=first)
            if own in seen:
                raise DataError(
                    f"{where}, line {number}: {own} had a list before: keep its lines together, or "
                    "choose another --format"
                )
            seen.add(own)
            list_id, first, here = own, number, []
        here.append(hypothesis)
    if list_id is not None:
        yield NBestList(list_id, here, line=first)
