"""The columns of a table: which it has depends on what its rows print, perplexities or numbers of another kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from wordtie.evaluation.format_perplexity import format_perplexity
from wordtie.reproduction.ledger.record import EARLIER
from wordtie.reproduction.ledger.status import Mean, RowState
from wordtie.reproduction.render.formats import count, number, percent, printed_count

SHOWN_ELSEWHERE = {"inan-2017/table-4": "on the HTML page", "inan-2017/figure-2": "in the figure"}
"""Tables whose rows have no number, by paper/table, and where their content is shown."""
TRAINED_AGAIN = "before"
"""Label of the numbers that a result replaced."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    text: Callable[[RowState], str]
    """Function that returns a row's cell."""
    is_number: bool = True
    """Whether the column is aligned to the right."""


def columns(rows: Sequence[RowState]) -> list[Column]:
    """Return the columns of the table that consists of these rows."""
    return [Column("row", _name, False), Column("model", _label, False), *_results(rows),
            Column("status", _status, False)]  # fmt: skip


def _results(rows: Sequence[RowState]) -> list[Column]:
    if rows[0].row.table in SHOWN_ELSEWHERE:
        return [Column("ours", _elsewhere, False)]
    names = dict.fromkeys(name for state in rows for name in (*state.row.published.values, *state.values()))
    has_perplexities = not names or any(_published_pair(state) != "–" for state in rows)
    return [*(PERPLEXITIES if has_perplexities else ()), *map(_of_value, names), *_sizes(rows)]


def pair(valid: float | Mean | None, test: float | Mean | None) -> str:
    """Format two perplexities, as `92.6 / 87.3`; a dash if there is neither."""
    shown = [number(each) if each is None or isinstance(each, float) else str(each) for each in (valid, test)]
    return "–" if shown == ["–", "–"] else " / ".join(shown)


def _name(state: RowState) -> str:
    return state.row.short_name


def _label(state: RowState) -> str:
    return state.row.label


def _status(state: RowState) -> str:
    said = f"{state.status}: {state.why}" if state.why else state.status
    return "; ".join([said, *seeds(state), *earlier(state)])


def seeds(state: RowState) -> Iterator[str]:
    """Yield the number of seeds of a mean, as `10 seeds`; nothing for a single seed."""
    if len(state.entries) > 1:
        yield f"{len(state.entries)} seeds"


def earlier(state: RowState) -> Iterator[str]:
    """Yield `before: 98.36 / 95.49` for each seed whose perplexities were replaced, oldest first."""
    for entry in state.entries if state.row.shows_perplexities else ():
        if replaced := entry.get(EARLIER):
            both = [(each["valid_perplexity"], each["test_perplexity"]) for each in replaced]
            pairs = ", ".join(" / ".join(map(format_perplexity, each)) for each in both)
            which = f" (seed {entry['seed']})" if len(state.entries) > 1 else ""
            yield f"{TRAINED_AGAIN}{which}: {pairs}"


def _published_pair(state: RowState) -> str:
    return pair(state.row.published.valid, state.row.published.test)


def _our_pair(state: RowState) -> str:
    return pair(state.ours("valid"), state.ours("test"))


def _difference(state: RowState) -> str:
    return percent(state.difference)


PERPLEXITIES = (
    Column("published valid / test", _published_pair),
    Column("ours valid / test", _our_pair),
    Column("difference", _difference),
)


def _of_value(name: str) -> Column:
    """Return the column of a number other than perplexity."""

    def text(state: RowState) -> str:
        printed, ours = state.row.published.values.get(name), state.values().get(name)
        if printed is None and ours is None:
            return "–"
        said = "–" if printed is None else f"{printed:{'.2f' if abs(printed) < 1 else 'g'}}"
        return f"{said} / {'–' if ours is None else ours}"

    return Column(f"{name} published / ours", text)


def _sizes(rows: Sequence[RowState]) -> list[Column]:
    """Return a column of parameter counts, unless no row has one."""
    return [Column("size printed / ours", _size)] if any(_size(state) != "–" for state in rows) else []


def _size(state: RowState) -> str:
    ours = state.entries[0]["parameters"] if state.entries else None
    sizes = [printed_count(state.row.published.parameters), count(ours)]
    return "–" if sizes == ["–", "–"] else " / ".join(sizes)


def _elsewhere(state: RowState) -> str:
    return SHOWN_ELSEWHERE[state.row.table] if state.status == "run" else "–"
