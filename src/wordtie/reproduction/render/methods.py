"""The table of `docs/methods.md`: each method at one size and budget, compared with the tied model.

The same numbers are in `results/` as tab-separated values, for sorting and drawing.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from wordtie.config.arguments import option
from wordtie.reproduction.ledger.status import RowState
from wordtie.reproduction.papers.methods import COMMON, GROUP, REFERENCE
from wordtie.reproduction.papers.row import Changes
from wordtie.reproduction.render.formats import count, percent
from wordtie.reproduction.render.tables import table_line
from wordtie.training.schedule import averaging_begins

HEADER = (
    "row",
    "what it is",
    "its own settings",
    "valid",
    "test",
    "test, against tied",
    "parameters",
    "seconds",
)
TSV = f"{GROUP.replace('/', '-')}.tsv"
"""File name in the folder of results."""
COLUMNS = ("row", "seeds", "valid_perplexity", "test_perplexity", "parameters", "seconds", "settings")


def options(changes: Changes) -> str:
    """Format changes as on the command line of `wordtie train`: `--model.head untied`."""
    return " ".join(f"{option(name)} {str(value).lower()}" for name, value in changes.items())


def own(state: RowState) -> Changes:
    """Return the changes of a row that are not those common to all rows."""
    return {name: value for name, value in state.row.changes.items() if COMMON.get(name) != value}


def over(
    state: RowState | None,
    reference: RowState | None,
    what: Literal["seconds", "valid_perplexity", "test_perplexity"],
    seeds: Collection[int] | None = None,
) -> float | None:
    """Return the ratio of a row's mean to the reference's, over the seeds that both have; None if there are none.

    `seeds`: only of these.

    Seconds are compared between runs of one version only: others ran at other times, on machines of other speed.
    """
    of_seed = [{entry["seed"]: entry for entry in each.entries} if each else {} for each in (state, reference)]
    both = of_seed[0].keys() & of_seed[1].keys()
    both &= both if seeds is None else {*seeds}
    if what == "seconds":
        both = {seed for seed in both if len({found[seed]["code_version"] for found in of_seed}) == 1}
    if not both:
        return None
    mine, other = (statistics.fmean(found[seed][what] for seed in both) for found in of_seed)
    return mine / other


def markdown(states: Sequence[RowState]) -> str:
    """Return the table. It depends only on the results and the rows."""
    done = [state for state in states if state.entries]
    tied = next((state for state in done if state.row.name == REFERENCE), None)
    lines = [
        f"{len(done)} of {len(states)} rows are run. All rows: `{options(COMMON)}`.",
        "",
        table_line(HEADER),
        table_line("---" for _ in HEADER),
        *(table_line(_cells(state, tied)) for state in states),
    ]
    how = {f"{entry['machine']['cpu']}, {entry['precision']}" for state in done for entry in state.entries}
    notes = [*_averaging(done), *([f"Run on {'; '.join(sorted(how))}."] if how else [])]
    return "\n".join([*lines, *(part for note in notes for part in ("", note))]) + "\n"


def _averaging(states: Sequence[RowState]) -> Iterator[str]:
    """Yield when weight averaging started in the rows that use it; it may not have started within the budget."""
    for state in states:
        patience = state.row.settings().training.average_patience
        for entry in state.entries if patience else ():
            valid = entry["curve"]["valid"]
            epochs = [epoch for epoch in range(1, len(valid)) if averaging_begins(valid[:epoch], patience)]
            when = f"from epoch {epochs[0] + 1} on" if epochs else "at no epoch"
            yield f"{_name(state)}, seed {entry['seed']}: the mean of the weights is what was measured {when}."


def _cells(state: RowState, tied: RowState | None) -> tuple[str, ...]:
    valid, test = state.ours("valid"), state.ours("test")
    ratio = None if state is tied else over(state, tied, "test_perplexity")
    compared = None if ratio is None else ratio - 1
    return (
        _name(state),
        state.row.label,
        f"`{options(own(state))}`" if own(state) else "",
        *("–" if each is None else str(each) for each in (valid, test)),
        percent(compared),
        count(state.entries[0]["parameters"] if state.entries else None),
        f"{_seconds(state):,.0f}" if state.entries else "–",
    )


def _name(state: RowState) -> str:
    return state.row.name.removeprefix(f"{GROUP}/")


def tsv(states: Sequence[RowState]) -> str:
    """Return a header and a line for each row that was run, with means over seeds; empty if there are none."""
    lines: list[list[object]] = [
        [state.row.name, len(state.entries), valid.mean, test.mean, state.entries[0]["parameters"], _seconds(state),
         options(own(state))]
        for state in states
        if (valid := state.ours("valid")) and (test := state.ours("test"))
    ]  # fmt: skip
    return "".join("\t".join(map(str, line)) + "\n" for line in [COLUMNS, *lines]) if lines else ""


def _seconds(state: RowState) -> float:
    return statistics.fmean(float(entry["seconds"]) for entry in state.entries)
