"""Read what `wordtie surprisal` wrote, with reading times, as the data of `wordtie.inference.reading_times`.

Words without a reading time, with a missing predictor (the first words of a sentence have no words before them) or out
of the vocabulary, if these are left out, are counted and dropped, the same words for every model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from wordtie.data.table import Table, read_table
from wordtie.errors import DataError
from wordtie.inference.reading_times import Floats, ReadingTimes

MISSING = ("", "na", "nan", "null", "none", ".")
Oov: TypeAlias = Literal["keep", "drop", "flag"]
CONTROLS = ("word_length", "log_frequency")


@dataclass(frozen=True)
class Choice:
    """The columns to analyse, and how to analyse them."""

    time: str
    """The column of reading times."""
    surprisal: Sequence[str] = ("surprisal_bits",)
    item: str = "line"
    """The column that tells items apart: all words of an item are in one fold."""
    controls: Sequence[str] = ()
    """Further predictors of the baseline."""
    spillover: int | None = None
    """Number of preceding words to include; None: as many as the first table has word length and log frequency of."""
    oov: Oov = "keep"
    """Treatment of words outside the vocabulary of a model, here or among the words before: `keep` them, `drop` them,
    or `flag` them by a predictor in the baseline."""
    log: bool = False
    """Whether to take the logarithm of the times."""
    prefix: str = ""
    """Prefix of the columns that `wordtie surprisal` added."""


@dataclass
class Dropped:
    """Words that are not analysed, by reason."""

    no_time: int = 0
    no_predictor: int = 0
    oov: int = 0


@dataclass
class _Columns:
    """One table's rows as numbers; nan is a missing value."""

    item: list[str] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    rows: list[list[float]] = field(default_factory=list)


def read_joined(tables: Sequence[tuple[str, Iterable[str]]], choice: Choice) -> tuple[ReadingTimes, Dropped]:
    """Read the words of one or more tables, given by name and lines; several, one per model, must have the same rows.

    Raises a `DataError` that names the file, the line and the column.
    """
    names, read = [], []
    spillover = choice.spillover
    for where, lines in tables:
        table = read_table(lines, where)
        spillover = _spillover(table, choice) if spillover is None else spillover
        _check_lags(table, choice, spillover)
        names.append(_numbers(choice, spillover))
        read.append(_read(table, choice, names[-1]))
    _check_same_rows(read, [where for where, _ in tables], choice.time)
    values = [dict(zip(names[0], np.array(each.rows).T, strict=True)) for each in read]
    assert spillover is not None
    return _select(values, read[0].item, [where for where, _ in tables], choice, spillover)


def _spillover(table: Table, choice: Choice) -> int:
    """Return the number of preceding words whose controls the table has."""
    count = 0
    while all(f"{choice.prefix}{name}_prev{count + 1}" in table.columns for name in CONTROLS):
        count += 1
    return count


def _check_lags(table: Table, choice: Choice, spillover: int) -> None:
    """Raise `DataError` for a predictor without a column for each of the `spillover` words before."""
    for name in _predictors(choice):
        table.place(name)
        for back, lag in enumerate(_lagged(name, spillover)):
            if lag not in table.columns:
                raise DataError(
                    f"{table.where}, line 1: has no column {lag}, which a spillover of {spillover} needs: add it, or "
                    f"give --spillover {back - 1}"
                )


def _predictors(choice: Choice) -> list[str]:
    """Return the columns whose values at the words before are predictors, too."""
    return [*choice.surprisal, *(choice.prefix + name for name in CONTROLS)]


def _lagged(name: str, spillover: int) -> list[str]:
    return [name, *(f"{name}_prev{back}" for back in range(1, spillover + 1))]


def _numbers(choice: Choice, spillover: int) -> list[str]:
    """Return the columns that are read as numbers."""
    lagged = [each for name in _predictors(choice) for each in _lagged(name, spillover)]
    oov = [] if choice.oov == "keep" else _lagged(f"{choice.prefix}oov", spillover)
    return list(dict.fromkeys([choice.time, *lagged, *choice.controls, *oov]))


def _read(table: Table, choice: Choice, names: Sequence[str]) -> _Columns:
    places = [table.place(name) for name in names]
    item = table.place(choice.prefix + choice.item if choice.item == "line" else choice.item)
    found = _Columns()
    for row in table.rows:
        found.item.append(row.cells[item])
        found.line.append(row.line)
        found.rows.append([
            _number(row.cells[place], f"{table.where}, line {row.line}: {name}")
            for name, place in zip(names, places, strict=True)
        ])  # fmt: skip
        if choice.log and found.rows[-1][0] <= 0:
            raise DataError(
                f"{table.where}, line {row.line}: {choice.time} is {row.cells[places[0]]}, which has no logarithm: "
                "leave the cell empty, or leave --log out"
            )
    if not found.rows:
        raise DataError(f"{table.where}: has no rows, only a header: give one word a row")
    return found


def _number(cell: str, where: str) -> float:
    text = cell.strip()
    if text.lower() in MISSING:
        return math.nan
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) and math.isfinite(float(text)):
        return float(text)
    raise DataError(f"{where} is {text!r:.40}, no number: fix the cell, or leave it empty")


def _check_same_rows(read: Sequence[_Columns], names: Sequence[str], time: str) -> None:
    first = read[0]
    for name, other in zip(names[1:], read[1:], strict=True):
        pairs = zip(first.item, first.rows, other.item, other.rows, other.line, strict=False)
        for item, row, other_item, other_row, line in pairs:
            if item != other_item or not np.array_equal(row[:1], other_row[:1], equal_nan=True):
                raise DataError(f"{name}, line {line}: does not match {names[0]}: another item or {time}")
        if len(first.rows) != len(other.rows):
            raise DataError(f"{name}: has {len(other.rows):,} rows where {names[0]} has {len(first.rows):,}")


def _select(
    values: Sequence[dict[str, Floats]], items: Sequence[str], names: Sequence[str], choice: Choice, spillover: int
) -> tuple[ReadingTimes, Dropped]:
    """Drop what cannot be analysed, and arrange the predictors."""
    oov = [] if choice.oov == "keep" else _lagged(f"{choice.prefix}oov", spillover)
    first = values[0] | {name: np.maximum.reduce([table[name] for table in values]) for name in oov}
    time_N = first[choice.time]
    controls = [each for name in CONTROLS for each in _lagged(choice.prefix + name, spillover)]
    baseline = [*controls, *choice.controls, *(oov if choice.oov == "flag" else [])]
    candidates = {
        label: [table[each] for each in _lagged(name, spillover)]
        for label, table, name in _labels(values, names, choice)
    }
    predictors = [*(first[name] for name in baseline), *(each for lags in candidates.values() for each in lags)]
    has_time_N = ~np.isnan(time_N)
    whole_N = ~np.isnan(np.stack(predictors)).any(0)
    known_N = np.ones(len(time_N), np.bool_)
    if choice.oov == "drop":
        known_N &= ~np.stack([np.nan_to_num(table[name]) > 0 for table in values for name in oov]).any(0)
    kept_N = has_time_N & whole_N & known_N
    dropped = Dropped(
        int((~has_time_N).sum()), int((has_time_N & ~whole_N).sum()), int((has_time_N & whole_N & ~known_N).sum())
    )
    if not kept_N.any():
        raise DataError(f"{names[0]}: has no word with {choice.time} and all predictors; log_frequency is empty if the "
                        "training text was not there: see `wordtie surprisal --frequencies`")  # fmt: skip
    time_N = np.log(time_N[kept_N]) if choice.log else time_N[kept_N]
    _, item_N = np.unique(np.array(items)[kept_N], return_inverse=True)
    return ReadingTimes(
        time_N=time_N,
        item_N=item_N,
        baseline_NP=np.stack([first[name] for name in baseline], 1)[kept_N],
        surprisal={label: np.stack(lags, 1)[kept_N] for label, lags in candidates.items()},
    ), dropped


def _labels(
    values: Sequence[dict[str, Floats]], names: Sequence[str], choice: Choice
) -> Iterator[tuple[str, dict[str, Floats], str]]:
    """Yield (label, table, column) for each surprisal of each table."""
    for where, table in zip(names, values, strict=True):
        for name in choice.surprisal:
            parts = [where] * (len(values) > 1) + [name] * (len(choice.surprisal) > 1 or len(values) == 1)
            yield ":".join(parts), table, name
