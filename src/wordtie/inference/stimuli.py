"""Stimulus files and tables of reading times, with surprisal added: every column of the file is kept.

A table with a sentence per row (`sentence_per_row`, `join`) gets a row for each token or region; a row whose cell is
blank has no region, so a table of regions leaves it out. A table with a word per row (`word_per_row`), the usual form
of reading times, gets columns and keeps its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Literal

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
    again with other words, or a sentence or passage whose words are repeated.
    """
    require(len(by) > 0, "name the columns that tell sentences apart")
    places = [table.place(name) for name in by]
    sentences = list(_sentences(table, table.place(words), places, by))
    if reset == "blank":
        sentences = list(_passages(sentences, places[:-1] or places, table.where, by[-1]))
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
        _check_once(table.where, rows, shown, name)
        yield rows, ShownLine(" ".join(shown), shown)


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


def _check_once(where: str, rows: Sequence[Row], shown: list[str], name: str) -> None:
    """Raise `DataError` for repeated words: those of several readers must be told apart by reader."""
    for size in range(LEAST_REPEATED, len(shown) // 2 + 1):
        times = len(shown) // size
        if len(shown) == size * times and (
            shown == shown[:size] * times or shown == [word for word in shown[::times] for _ in range(times)]
        ):
            row = rows[size if shown == shown[:size] * times else 1]
            raise DataError(
                f"{where}, line {row.line}: does not match: the words with {name} come {times} times over: name the "
                "column that tells readers apart with --by too, and sort by it"
            )


def _passages(sentences: Sequence[Sentence], places: Sequence[int], where: str, last: str) -> Iterator[Sentence]:
    """Join sentences with the same cells into passages. Raises `DataError` for one that several people have read."""
    for _, of_it in groupby(sentences, key=lambda sentence: [sentence[0][0].cells[place] for place in places]):
        rows, lines = zip(*of_it, strict=True)
        texts = [line.text for line in lines]
        for size in range(1, len(texts) // 2 + 1):
            if texts == texts[:size] * (len(texts) // size):
                raise DataError(
                    f"{where}, line {rows[size][0].line}: does not match: the sentences of a passage come several "
                    f"times over: name the column that tells readers apart with --by, before {last}"
                )
        regions = [region for line in lines for region in line.regions]
        yield [row for each in rows for row in each], ShownLine("\n".join(texts), regions)
