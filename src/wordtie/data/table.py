"""Columns of a table, as `wordtie surprisal --column` reads sentences or words from an experiment's item list.

A table is delimited (CSV, or with tabs), its first line the names of the columns, or it is JSON Lines: an object a
line, whose names are the columns.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby

from wordtie.data.reading import LONGEST_LINE
from wordtie.errors import DataError

DELIMITERS = ("\t", ",", ";")
Row = tuple[int, list[str]]
"""The line a row ends on, and its cells in the columns that are asked for."""


def column(lines: Iterable[str], name: str, where: str) -> Iterator[str]:
    """The cells of the column `name`, a row each, with what line ends they have as `\n`.

    `where` is the table's name in messages. Raises `DataError` for a column that is not there, a row that has not as
    many cells as the header, quotation marks that do not close, and a line that is no JSON object where the first is.
    """
    for _, (cell,) in _rows(lines, (name,), where):
        yield "\n".join(line for line in cell.split("\n") if line.strip())


def sentences(lines: Iterable[str], name: str, sentence: str, where: str) -> Iterator[str]:
    """The sentences of a table with a word a row in the column `name`, words parted by a blank.

    Rows one after another with the same cell in the column `sentence` are a sentence. Raises `DataError` as `column`
    does, and for a row that has not one word.
    """
    rows = _rows(lines, (name, sentence), where)
    for value, rows_of_it in groupby(rows, key=lambda row: row[1][1]):
        words, length = [], 0
        for line, (cell, _) in rows_of_it:
            if len(cell.split()) != 1:
                raise DataError(
                    f"{where}, line {line}: has {len(cell.split())} words in column {name}; with --sentence every row "
                    "is one word: fix the row, or leave --sentence out"
                )
            words.append(cell.strip())
            length += len(words[-1]) + 1
            if length > LONGEST_LINE:
                raise DataError(
                    f"{where}, line {line}: sentence {value!r:.40} is longer than {LONGEST_LINE // 1_000_000} MB: does "
                    f"column {sentence} tell sentences apart?"
                )
        yield " ".join(words)


def _rows(lines: Iterable[str], names: Sequence[str], where: str) -> Iterator[Row]:
    rest = iter(lines)
    header = next(rest, "")
    if isinstance(_parsed(header), dict):
        return _of_json(chain([header], rest), names, where)
    return _of_delimited(header, rest, names, where)


def _parsed(line: str) -> object:
    """The JSON value in a line; None if there is none."""
    try:
        return json.loads(line) if line.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return None


def _of_json(lines: Iterable[str], names: Sequence[str], where: str) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row = _parsed(line)
        if not isinstance(row, dict):
            raise DataError(f"{where}, line {number}: is no JSON object as line 1 is: write one on each line")
        for name in names:
            if name not in row:
                only = ", ".join(map(str, row))
                raise DataError(f"{where}, line {number}: has no {name}, only {only:.200}: name one of these")
            if not isinstance(row[name], str | int) or isinstance(row[name], bool):
                raise DataError(f"{where}, line {number}: {name} is no string: write it in quotation marks")
        yield number, [str(row[name]) for name in names]


def _of_delimited(header: str, rest: Iterable[str], names: Sequence[str], where: str) -> Iterator[Row]:
    """The delimiter is the one of tab, comma and semicolon that the header has most often."""
    csv.field_size_limit(LONGEST_LINE)
    delimiter = max(DELIMITERS, key=header.count)
    reader = csv.reader((f"{line}\n" for line in chain([header], rest)), delimiter=delimiter, strict=True)
    try:
        columns = next(reader)
        places = [_place(columns, name, where) for name in names]
        for row in reader:
            if not row:
                continue  # a blank line, which R and pandas do not count either
            if len(row) != len(columns):
                raise DataError(
                    f"{where}, line {reader.line_num}: has {len(row)} cells where line 1 has {len(columns)}: fix the "
                    "row"
                )
            yield reader.line_num, [row[place] for place in places]
    except csv.Error as error:
        hint = "is a quotation mark left open? Within a cell it is written twice, and the cell between two more"
        raise DataError(f"{where}, line {reader.line_num}: {error}: {hint}") from error


def _place(columns: Sequence[str], name: str, where: str) -> int:
    if not any(map(str.strip, columns)):
        raise DataError(f"{where}, line 1: is blank; a table begins with the names of its columns")
    if name not in columns:
        only = ", ".join(each if each == each.strip() != "" else repr(each) for each in columns)
        raise DataError(f"{where}, line 1: has no column {name}, only {only}: name one of these")
    if columns.count(name) > 1:
        raise DataError(f"{where}, line 1: has {columns.count(name)} columns {name}: rename all but one")
    return columns.index(name)
