"""All rows by name, those of the papers and those that compare the methods, and a selection of them by name."""

from __future__ import annotations

from collections.abc import Sequence

from wordtie.errors import SettingsError, did_you_mean
from wordtie.reproduction.papers import (
    baselines,
    gulordava_2018,
    inan_2017,
    inan_khosravi_2016,
    kong_2019,
    methods,
    minutes,
    press_wolf_2017_vectors,
)
from wordtie.reproduction.papers.row import Row

ROWS: dict[str, Row] = {
    **baselines.ROWS,
    **inan_khosravi_2016.ROWS,
    **inan_2017.ROWS,
    **press_wolf_2017_vectors.ROWS,
    **gulordava_2018.ROWS,
    **kong_2019.ROWS,
    **methods.ROWS,
    **{name: row for group in minutes.GROUPS for name, row in group.rows.items()},
}
"""Rows by name, in the order of the papers. A new paper is a new file with its `ROWS`, and a line here."""


def of_papers() -> list[Row]:
    """The rows that papers have, and their baselines: what `docs/reproduction.md` shows and counts."""
    others = {*methods.ROWS, *(name for group in minutes.GROUPS for name in group.rows)}
    return [row for row in ROWS.values() if row.name not in others]


def of_methods() -> list[Row]:
    """The rows that compare the methods with each other: the first table of `docs/methods.md`."""
    return [ROWS[name] for name in methods.ROWS]


def of_group(group: minutes.Group) -> list[Row]:
    """The rows that change the recipe of `wordtie train` for so many minutes: a table of `docs/methods.md`."""
    return [ROWS[name] for name in group.rows]


def select(names: Sequence[str]) -> list[Row]:
    """Return the rows with these names, or whose names begin with one of them; all rows if `names` is empty.

    Raises `SettingsError` for a name that no row begins with, and for an empty one.
    """
    chosen: dict[str, Row] = {}
    if not all(names):
        raise SettingsError("a row's name is empty: name a row or a group of rows")
    for name in names or [""]:
        found = (
            {name: ROWS[name]} if name in ROWS else {each: row for each, row in ROWS.items() if each.startswith(name)}
        )
        if not found:
            hint = did_you_mean(name, ROWS, cutoff=0.4)
            raise SettingsError(f"no row or group of rows is called {name}{hint} (`wordtie reproduce list` shows all)")
        chosen |= found
    return list(chosen.values())
