"""The tables of the ledger: a listing for the terminal, and Markdown for `docs/reproduction.md`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import get_args

from wordtie.reproduction.ledger.status import Mean, RowState, Status
from wordtie.reproduction.render.captions import paper_title, table_title
from wordtie.reproduction.render.columns import columns, pair, seeds
from wordtie.reproduction.render.formats import percent
from wordtie.reproduction.render.orders import orders
from wordtie.reproduction.render.run_notes import notes, runs_in_a_line


def by_table(states: Iterable[RowState]) -> Iterator[list[RowState]]:
    """Yield the rows of each table, in the papers' order."""
    for _, rows in groupby(states, key=lambda state: state.row.table):
        yield list(rows)


def summary(states: Sequence[RowState]) -> str:
    """Return the number of rows with each status, as `203 rows: 2 reached, ...`."""
    counts = Counter(state.status for state in states)
    rows = "1 row" if len(states) == 1 else f"{len(states)} rows"
    return f"{rows}: {', '.join(f'{counts[name]} {name}' for name in get_args(Status) if counts[name])}"


def listing(states: Sequence[RowState]) -> str:
    """Return a listing for the terminal, with one line per row."""
    lines = []
    width = max(len(state.row.name) for state in states)
    for state in states:
        published, ours = (pair(*each) for each in _pairs(state))
        apart = state.difference
        more = "" if apart is None else f" ({percent(apart)})"
        printed = state.row.published.values
        if values := state.values():
            of = {name: f" of {value:g}" for name, value in printed.items()}
            more = f" ({', '.join(f'{name} {value}{of.get(name, str())}' for name, value in values.items())})"
        elif printed:
            more = f" (published: {', '.join(f'{name} {value:g}' for name, value in printed.items())})"
        why = f": {state.why}" if state.why else ""
        of_seeds = "".join(f", {each}" for each in seeds(state))
        lines.append(f"{state.row.name:{width}}  {published:>15}  {ours:>17}  {state.status}{more}{of_seeds}{why}")
    head = f"{'row':{width}}  {'published':>15}  {'ours':>17}  status"
    return "\n".join([head, *lines, "", f"{summary(states)} (perplexities: validation / test)"])


def _pairs(state: RowState) -> tuple[tuple[float | None, float | None], tuple[Mean | None, Mean | None]]:
    published = state.row.published
    return (published.valid, published.test), (state.ours("valid"), state.ours("test"))


def markdown(states: Sequence[RowState]) -> str:
    """Return every table, with rows that are not run and why. It depends only on the results and the papers' files."""
    lines = [f"{summary(states)}.", ""]
    shown = ""
    for rows in by_table(states):
        if rows[0].row.paper != shown:
            shown = rows[0].row.paper
            lines += [f"## {paper_title(shown)}", ""]
        lines += [f"### {table_title(rows[0].row.table)}", ""]
        shape = columns(rows)
        lines += [table_line(column.title for column in shape), table_line("---" for _ in shape)]
        lines += [table_line(column.text(state) for column in shape) for state in rows]
        lines += [
            "",
            *(part for note in (*notes(rows), *orders(rows), runs_in_a_line(rows)) if note for part in (note, "")),
        ]
    return "\n".join(lines).rstrip() + "\n"


def table_line(texts: Iterable[str]) -> str:
    """Return a line of a Markdown table."""
    return "| " + " | ".join(text.replace("|", "\\|").replace("<", "&lt;") for text in texts) + " |"
