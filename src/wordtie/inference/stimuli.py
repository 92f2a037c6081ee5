"""Stimulus files and tables of reading times, with surprisal added: every column of the file is kept.

A table with a sentence per row (`sentence_per_row`, `join`) gets a row for each token or region; a row whose cell is
blank has no region, so a table of regions leaves it out. A table with a word per row (`word_per_row`), the usual form
of reading times, gets columns and keeps its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress, groupby
from typing import TYPE_CHECKING, Literal

from wordtie.console import say
from wordtie.data.reading import LONGEST_LINE
from wordtie.data.table import Row, Table, check_one_line, text_of
from wordtie.errors import DataError, require
from wordtie.inference.frequencies import Frequencies
from wordtie.inference.regions import ShownLine, Values, region_rows

if TYPE_CHECKING:
    from wordtie.inference.loading import LoadedModel

Sentence = tuple[list[Row], ShownLine]
LEAST_REPEATED = 3
"""Fewest words of a sentence whose repetition is taken as several readings of it."""
IN_ONE_CONTEXT = "are scored in one context: if several people read them, add a column of readers, and give it to --by"


def check_new_columns(table: Table, names: Iterable[str]) -> None:
    """Raise `DataError` for a column to be added that the table has already."""
    for name in names:
        if name in table.columns:
            raise DataError(
                f"{table.where}, line 1: has a column {name} already, which surprisal would add: rename it, or give "
                "--prefix"
            )


def sentence_per_row(table: Table, column: str) -> Iterator[tuple[Row, str]]:
    """Return each row of a table, and its cell in the column as text."""
    place = table.place(column)
    return ((row, text_of(row.cells[place])) for row in table.rows)


def join(rows: Iterable[Row], values: Iterable[Values]) -> Iterator[tuple[Row, Values]]:
    """Yield the values found for a table with a sentence per row, each with its row; `line` is the row's number."""
    numbered = enumerate(rows, 1)
    number, row = 0, Row(0, ())
    for each in values:
        while number < each["line"]:
            number, row = next(numbered)
        yield row, each


def word_per_row(
    models: Sequence[LoadedModel],
    table: Table,
    words: str,
    by: Sequence[str],
    reset: Literal["line", "blank"] = "line",
    frequencies: Frequencies | None = None,
    spillover: int = 0,
) -> Iterator[tuple[Row, Values]]:
    """Yield each row of a table with a word per row, in order, and the values that are added to it.

    Consecutive rows that agree in the columns `by` are a sentence. With `reset="blank"`, consecutive sentences that
    agree in all of these columns but the last are a passage, within which context is kept. A sentence that occurs
    again, say for another reader, is scored once; `line` numbers the different sentences or passages.

    Raises a `DataError` that names the first row that does not match: a row without a word, one whose sentence occurs
    again with other words, or a sentence or passage that several people read, by another column. Where words are
    repeated, but no column tells that several people read them, a note says so.
    """
    require(len(by) > 0, "name the columns that tell sentences apart")
    places = [table.place(name) for name in by]
    sentences = list(_sentences(table, table.place(words), places, by))
    if reset == "blank":
        sentences = list(_passages(sentences, table, by))
    numbers: dict[tuple[str, ...], int] = {}
    different: list[ShownLine] = []
    for _, line in sentences:
        key = (line.text, *line.regions)
        if key not in numbers:
            numbers[key] = len(numbers)
            different.append(line)
    found = region_rows(models, different, "line", frequencies, spillover)
    scored = [list(of_line) for _, of_line in groupby(found, key=lambda values: values["line"])]
    for rows, line in sentences:
        yield from zip(rows, scored[numbers[line.text, *line.regions]], strict=True)


def _sentences(table: Table, word: int, places: Sequence[int], by: Sequence[str]) -> Iterator[Sentence]:
    earlier: dict[tuple[str, ...], list[str]] = {}
    notes: list[str] = []
    for key, rows_of_it in groupby(table.rows, key=lambda row: tuple(row.cells[place] for place in places)):
        name = ", ".join(f"{column} {value}" for column, value in zip(by, key, strict=True))[:80]
        rows, length = [], 0
        for row in rows_of_it:
            rows.append(row)
            length += len(row.cells[word]) + 1
            if not row.cells[word].strip():
                raise DataError(
                    f"{table.where}, line {row.line}: has no word in column {table.columns[word]}: fix the row"
                )
            check_one_line(table.where, row, table.columns[word], row.cells[word])
            if length > LONGEST_LINE:
                raise DataError(
                    f"{table.where}, line {row.line}: the sentence with {name} is longer than "
                    f"{LONGEST_LINE // 1_000_000} MB: do these columns tell sentences apart?"
                )
        shown = [" ".join(row.cells[word].split()) for row in rows]
        _check_same(table.where, rows, shown, earlier.setdefault(key, shown), name)
        if note := _check_once(table, rows, shown, name):
            notes.append(note)
        yield rows, ShownLine(" ".join(shown), shown)
    say(notes[:1])


def _check_same(where: str, rows: Sequence[Row], shown: list[str], before: list[str], name: str) -> None:
    """Raise `DataError` if a sentence that occurs again has other words than before."""
    if shown == before:
        return
    shorter = min(len(shown), len(before))
    place = next((n for n, (new, old) in enumerate(zip(shown, before, strict=False)) if new != old), shorter)
    row = rows[min(place, len(rows) - 1)]
    expected = f"word {place + 1} was {before[place]!r:.40}" if place < len(before) else f"it had {len(before)} words"
    has = f"{shown[place]!r:.40} here" if place < len(shown) else "the sentence ends here"
    raise DataError(
        f"{where}, line {row.line}: does not match: the sentence with {name} came before, and {expected}, but {has}: "
        "sort the rows, or name a column more with --by"
    )


def _check_once(table: Table, rows: Sequence[Row], shown: list[str], name: str) -> str | None:
    """Return a note if the words are repeated. Raises `DataError` if a column shows that several people read them, who
    would be scored with one another's reading as context.
    """
    note = None
    for size in range(LEAST_REPEATED, len(shown) // 2 + 1):
        times, rest = divmod(len(shown), size)
        if rest:
            continue
        one_by_one = [rows[first : first + size] for first in range(0, len(rows), size)]
        by_turns = [rows[first::times] for first in range(times)]
        repeated = (shown == shown[:size] * times, shown == [word for word in shown[::times] for _ in range(times)])
        for readings in compress((one_by_one, by_turns), repeated):
            place = f"{table.where}, line {readings[1][0].line}"
            if column := _column_of_readers(table.columns, readings):
                raise DataError(
                    f"{place}: does not match: the words with {name} come {times} times over: name the column that "
                    f"tells readers apart, such as {column}, with --by too, and sort by it"
                )
            note = note or f"{place}: the words with {name} come {times} times over, and {IN_ONE_CONTEXT}"
    return note


def _column_of_readers(columns: Iterable[str], readings: Sequence[Sequence[Row]], without: int = -1) -> str | None:
    """Return the name of a column that is the same throughout each reading, but not in all; None if there is none.

    `without` is the place of a column that does not count. Readings of a word or two do not count either, since any
    column may look like one of readers there.
    """
    for place, column in enumerate(columns if len(readings[0]) >= LEAST_REPEATED else ()):
        values = [{row.cells[place] for row in reading} for reading in readings]
        if place != without and all(len(each) == 1 for each in values) and len(set.union(*values)) > 1:
            return column
    return None


def _passages(sentences: Sequence[Sentence], table: Table, by: Sequence[str]) -> Iterator[Sentence]:
    """Join sentences that agree in the columns `by` but the last into passages, with a note on the first that is
    repeated. Raises `DataError` for one that several people have read.
    """
    *places, last = (table.place(name) for name in by)
    notes: list[str] = []
    for _, of_it in groupby(sentences, key=lambda each: [each[0][0].cells[place] for place in places or [last]]):
        rows, lines = zip(*of_it, strict=True)
        texts, numbers = [line.text for line in lines], [of_sentence[0].cells[last] for of_sentence in rows]
        for size in range(1, len(texts) // 2 + 1):
            times = len(texts) // size
            if texts != texts[:size] * times:
                continue
            readings = [list(chain(*rows[first : first + size])) for first in range(0, len(rows), size)]
            place = f"{table.where}, line {readings[1][0].line}"
            if numbers == numbers[:size] * times or _column_of_readers(table.columns, readings, last):
                raise DataError(
                    f"{place}: does not match: the sentences of a passage come several times over: name the column "
                    f"that tells readers apart with --by, before {by[-1]}"
                )
            notes.append(f"{place}: the sentences of a passage come {times} times over, and {IN_ONE_CONTEXT}")
        regions = [region for line in lines for region in line.regions]
        yield [row for each in rows for row in each], ShownLine("\n".join(texts), regions)
    say(notes[:1])
