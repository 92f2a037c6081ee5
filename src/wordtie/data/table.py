"""Tables of an experiment: items, words with reading times, minimal pairs.

A table is delimited (CSV, or with tabs), its first line the names of the columns, or it is JSON Lines: an object a
line, whose names are the columns.
"""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from wordtie.data.reading import LONGEST_LINE
from wordtie.errors import DataError
from wordtie.storage.strict_json import JsonError, with_distinct_names

DELIMITERS = ("\t", ",", ";")


@dataclass(frozen=True)
class Row:
    """One row of a table."""

    line: int
    """Line of the file that the row ends on."""
    cells: Sequence[str]
    """Text of each column."""


@dataclass(frozen=True)
class Table:
    """Column names and rows, which are read once, as they are asked for."""

    where: str
    """Name of the table in messages."""
    columns: Sequence[str]
    rows: Iterator[Row]

    def place(self, name: str) -> int:
        """Return the number of a column, from 0, in whatever Unicode form its name is written.

        Raises `DataError` if there is none of this name, or several.
        """
        columns = [unicodedata.normalize("NFC", column) for column in self.columns]
        composed = unicodedata.normalize("NFC", name)
        if composed not in columns:
            only = listed(self.columns)
            raise DataError(f"{self.where}, line 1: has no column {name}, only {only}: name one of these")
        if columns.count(composed) > 1:
            raise DataError(f"{self.where}, line 1: has {columns.count(composed)} columns {name}: rename all but one")
        return columns.index(composed)


def read_table(lines: Iterable[str], where: str) -> Table:
    """Read the table in these lines.

    Raises `DataError` for a blank header, and, as the rows are read, for a row with another number of cells than the
    header, quotation marks that do not close or close in another row, and, if the first line is a JSON object, a line
    that is none or names a field twice.
    """
    rest = iter(lines)
    header = next(rest, "")
    first = _parsed(header, f"{where}, line 1")
    if isinstance(first, dict):
        return Table(where, list(first), _of_json(list(first), chain([header], rest), where))
    return _delimited(header, rest, where)


def listed(columns: Sequence[str]) -> str:
    """Return the names of columns for a message, at most about 300 characters."""
    names = ", ".join(each if each == each.strip() != "" else repr(each) for each in columns)
    return names if len(names) <= 300 else f"{names[:300]}..."


def columns_of(name: str, header: str) -> list[str]:
    """Return the columns of a file that is a table by the ending of its name and by its first line; none for text.

    Prose may be in a file of any name. Unlike a header, it has blanks or digits after its commas, or a full stop.
    """
    ending = Path(name.lower().removesuffix(".gz").removesuffix(".zip")).suffix
    try:
        if ending == ".jsonl":
            found = json.loads(header)
            return list(found) if isinstance(found, dict) else []
        delimiter = {".tsv": "\t", ".csv": max(DELIMITERS, key=header.count)}.get(ending)
        if delimiter is None or delimiter not in header:
            return []
        csv.field_size_limit(LONGEST_LINE)
        cells = next(csv.reader([header], delimiter=delimiter))
    except (ValueError, RecursionError, csv.Error):
        return []
    is_prose = header.rstrip().endswith((".", "!", "?")) or any(re.match(r"[\s\d]", cell) for cell in cells[1:])
    return [] if is_prose and delimiter != "\t" else cells


def text_of(cell: str) -> str:
    r"""Return a cell as text: without blank lines, and with `\n` between the others."""
    return "\n".join(line for line in cell.split("\n") if line.strip())


def check_one_line(where: str, row: Row, column: str, word: str) -> None:
    """Raise `DataError` for a word that continues on the next line, as after a quotation mark that is not closed."""
    if "\n" in word.strip():
        raise DataError(
            f"{where}, line {row.line}: the word in column {column} goes on over several lines: is a quotation mark "
            "left open? Write it twice, and two more around the cell"
        )


def _parsed(line: str, place: str) -> object:
    """Return the JSON value in a line; None if there is none. Raises `DataError` for two fields of one name."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        return json.loads(line, object_pairs_hook=with_distinct_names)
    except JsonError as error:
        raise DataError(f"{place}: {error}: keep or rename one") from error
    except (ValueError, RecursionError):
        return None


def _of_json(columns: list[str], lines: Iterable[str], where: str) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row = _parsed(line, f"{where}, line {number}")
        if not isinstance(row, dict):
            raise DataError(f"{where}, line {number}: is no JSON object as line 1 is: write one on each line")
        for name in [*(set(row) - set(columns)), *(set(columns) - set(row))]:
            only = ", ".join(map(str, row))
            what = f"has no {name}, only {only:.200}" if name in columns else f"has a {name}, which line 1 has not"
            raise DataError(f"{where}, line {number}: {what}: write the same names on each line")
        yield Row(number, [_json_cell(row[name]) for name in columns])


def _json_cell(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _delimited(header: str, rest: Iterable[str], where: str) -> Table:
    """Read a delimited table; the delimiter is the one of tab, comma and semicolon that the header has most often."""
    csv.field_size_limit(LONGEST_LINE)
    delimiter = max(DELIMITERS, key=header.count)
    reader = csv.reader((f"{line}\n" for line in chain([header], rest)), delimiter=delimiter, strict=True)
    records = _records(reader, where, delimiter)
    columns = next(records, Row(1, [])).cells
    if not any(map(str.strip, columns)):
        raise DataError(f"{where}, line 1: is blank; a table begins with the names of its columns")
    return Table(where, list(columns), _of_equal_length(records, len(columns), where))


def _records(reader: csv._reader, where: str, delimiter: str) -> Iterator[Row]:  # type: ignore[name-defined]
    first = 1
    try:
        for cells in reader:
            # R writes words like '"Oh' as they are, so that the rows up to the next quotation mark would be one cell
            several = delimiter == "\t" and reader.line_num > first
            if several and any("\n" in cell and "\t" in cell for cell in cells):
                hint = "write each quotation mark twice, and two more around the cell"
                raise DataError(
                    f"{where}, line {first}: a quotation mark opens a cell that goes on in later rows: {hint}"
                )
            yield Row(reader.line_num, cells)
            first = reader.line_num + 1
    except csv.Error as error:
        hint = "is a quotation mark left open? Within a cell it is written twice, and the cell between two more"
        raise DataError(f"{where}, line {reader.line_num}: {error}: {hint}") from error


def _of_equal_length(rows: Iterator[Row], length: int, where: str) -> Iterator[Row]:
    for row in rows:
        if not row.cells:
            continue  # a blank line, which R and pandas do not count either
        if len(row.cells) != length:
            raise DataError(
                f"{where}, line {row.line}: has {len(row.cells)} cells where line 1 has {length}: fix the row"
            )
        yield row
