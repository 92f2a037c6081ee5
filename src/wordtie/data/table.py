"""One column of a delimited table, as `wordtie surprisal --column` reads sentences from an experiment's item list."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain

from wordtie.data.reading import LONGEST_LINE
from wordtie.errors import DataError

DELIMITERS = ("\t", ",", ";")


def column(lines: Iterable[str], name: str, where: str) -> Iterator[str]:
    """The cells of the column `name`, a row each, with what line ends they have as `\n`.

    The header is the first line; the delimiter is the one of tab, comma and semicolon that stands there most often.
    `where` is the table's name in messages. Raises `DataError` for a column that is not there, a row that has not as
    many cells as the header, and quotation marks that do not close.
    """
    csv.field_size_limit(LONGEST_LINE)
    rest = iter(lines)
    header = next(rest, "")
    delimiter = max(DELIMITERS, key=header.count)
    reader = csv.reader((f"{line}\n" for line in chain([header], rest)), delimiter=delimiter, strict=True)
    try:
        names = next(reader)
        if not any(map(str.strip, names)):
            raise DataError(f"{where}, line 1: is blank; a table begins with the names of its columns")
        if name not in names:
            only = ", ".join(each if each == each.strip() != "" else repr(each) for each in names)
            raise DataError(f"{where}, line 1: has no column {name}, only {only}: name one of these")
        if names.count(name) > 1:
            raise DataError(f"{where}, line 1: has {names.count(name)} columns {name}: rename all but one")
        index = names.index(name)
        for row in reader:
            if not row:
                continue  # a blank line, which R and pandas do not count either
            if len(row) != len(names):
                raise DataError(
                    f"{where}, line {reader.line_num}: has {len(row)} cells where line 1 has {len(names)}: fix the row"
                )
            yield "\n".join(line for line in row[index].split("\n") if line.strip())
    except csv.Error as error:
        hint = "is a quotation mark left open? Within a cell it is written twice, and the cell between two more"
        raise DataError(f"{where}, line {reader.line_num}: {error}: {hint}") from error
