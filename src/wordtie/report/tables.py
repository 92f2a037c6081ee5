"""The tables of the ledger: a listing for the terminal, and Markdown for `docs/reproduction.md`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import get_args

from wordtie.report.status import Mean, RowState, Status

TITLES = {
    "baselines": "Baselines",
    "inan-khosravi-2016": "Inan & Khosravi (2016), augmented loss",
    "inan-2017": "Inan, Khosravi & Socher (2017), tying word vectors and word classifiers",
    "press-wolf-2017": "Press & Wolf (2017), using the output embedding",
    "gulordava-2018": "Gulordava, Aina & Boleda (2018), tied + linear",
    "kong-2019": "Kong et al. (2019), variational smoothing",
}
HEADER = (
    "row",
    "model",
    "published valid / test",
    "ours valid / test",
    "difference",
    "size printed / ours",
    "status",
)


def number(value: float | None) -> str:
    """One decimal, or two; a dash where there is none."""
    return "–" if value is None else f"{value:.2f}".removesuffix("0")


def percent(value: float | None) -> str:
    """With its sign: below zero is better than published."""
    return "–" if value is None else f"{round(100 * value, 1) + 0.0:+.1f} %"


def count(value: float | None) -> str:
    """`4.65M`."""
    return "–" if value is None else f"{value / 1e6:.2f}M" if value < 100e6 else f"{value / 1e6:.0f}M"


def printed_count(value: float | None) -> str:
    """As the paper has it: `66M`, `4.65M`."""
    return "–" if value is None else f"{value / 1e6:g}M"


def named(values: Mapping[str, float], form: str = "g") -> str:
    """`MEN 0.26, Rare-Word 0.36`."""
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())


def pair(valid: float | Mean | None, test: float | Mean | None) -> str:
    """`92.6 / 87.3`; a dash where there is neither."""
    shown = [number(each) if each is None or isinstance(each, float) else str(each) for each in (valid, test)]
    return "–" if shown == ["–", "–"] else " / ".join(shown)


def main_difference(state: RowState) -> float | None:
    """On the test text where the paper has it, else on the validation text."""
    test = state.difference("test")
    return state.difference("valid") if test is None else test


def cells(state: RowState) -> tuple[str, ...]:
    """One row, as in `HEADER`."""
    published = state.row.published
    printed = pair(published.valid, published.test)
    if published.values and printed == "–":
        printed = named(published.values)
    sizes = [printed_count(published.parameters), count(state.entries[0]["parameters"] if state.entries else None)]
    status = f"{state.status}: {state.why}" if state.why else state.status
    ours = pair(state.ours("valid"), state.ours("test"))
    if values := state.values():
        ours = named({name: value.mean for name, value in values.items()}, ".2f")
    if distance := measured(state, "subspace", "distance"):
        ours = f"distance {distance.mean:.3f}" + (f" ± {distance.spread:.3f}" if distance.seeds > 1 else "")
    return (
        _short(state),
        state.row.label,
        printed,
        ours,
        percent(main_difference(state)),
        "–" if sizes == ["–", "–"] else " / ".join(sizes),
        status,
    )


def measured(state: RowState, measure: str, name: str) -> Mean | None:
    """One number of a measure, over the seeds."""
    found = [entry["measures"][measure][name] for entry in state.entries if measure in entry.get("measures", {})]
    return Mean.of(found) if found else None


def by_table(states: Iterable[RowState]) -> Iterator[tuple[str, str, list[RowState]]]:
    """(paper, table, its rows), in the papers' order."""
    for (paper, table), rows in groupby(states, key=lambda state: tuple(state.row.name.split("/")[:2])):
        yield paper, table, list(rows)


def summary(states: Sequence[RowState]) -> str:
    """`203 rows: 2 reached, ...`."""
    counts = Counter(state.status for state in states)
    return f"{len(states)} rows: {', '.join(f'{counts[name]} {name}' for name in get_args(Status) if counts[name])}"


def listing(states: Sequence[RowState]) -> str:
    """For the terminal: a line a row."""
    lines = []
    width = max(len(state.row.name) for state in states)
    for state in states:
        published, ours = (pair(*each) for each in _pairs(state))
        difference = main_difference(state)
        more = f": {state.why}" if state.why else "" if difference is None else f" ({percent(difference)})"
        if values := state.values():
            of = state.row.published.values
            more = f" ({', '.join(f'{name} {value.mean:.2f} of {of[name]:g}' for name, value in values.items())})"
        lines.append(f"{state.row.name:{width}}  {published:>15}  {ours:>17}  {state.status}{more}")
    head = f"{'row':{width}}  {'published':>15}  {'ours':>17}  status"
    return "\n".join([head, *lines, "", f"{summary(states)} (perplexities: validation / test)"])


def _pairs(state: RowState) -> tuple[tuple[float | None, float | None], tuple[Mean | None, Mean | None]]:
    published = state.row.published
    return (published.valid, published.test), (state.ours("valid"), state.ours("test"))


def markdown(states: Sequence[RowState]) -> str:
    """Every table, with what is not run and why. It depends on the results and the papers' files alone."""
    lines = [f"{summary(states)}.", ""]
    shown = ""
    for paper, table, rows in by_table(states):
        if paper != shown:
            lines += [f"## {TITLES.get(paper, paper)}", ""]
            shown = paper
        lines += [f"### {table.replace('-', ' ')}", ""]
        lines += [table_line(HEADER), table_line("---" for _ in HEADER)]
        lines += [table_line(cells(state)) for state in rows]
        lines += ["", *(part for note in notes(rows) for part in (note, ""))]
    return "\n".join(lines).rstrip() + "\n"


def table_line(texts: Iterable[str]) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(text.replace("|", "\\|").replace("<", "&lt;") for text in texts) + " |"


def notes(rows: Sequence[RowState]) -> list[str]:
    """What to know of some rows, once each; training perplexities, where printed; how long the runs took."""
    found: dict[str, list[str]] = {}
    for state in rows:
        if state.row.note:
            found.setdefault(state.row.note, []).append(_short(state))
    lines = [f"{', '.join(names) if len(names) < len(rows) else 'All'}: {note}." for note, names in found.items()]
    trained = [
        f"{_short(state)} {number(state.row.published.train)} / {number(ours)}"
        for state in rows
        if state.row.published.train is not None and (ours := _last_training_perplexity(state)) is not None
    ]
    if trained:
        lines.append(f"Training perplexity of the last epoch, published / ours: {'; '.join(trained)}.")
    runs = [f"{_short(state)}: {_how(state)}" for state in rows if state.entries]
    return [*lines, *(["Runs: " + "; ".join(runs) + "."] if runs else [])]


def _short(state: RowState) -> str:
    return state.row.name.split("/", 2)[2]


def _last_training_perplexity(state: RowState) -> float | None:
    found = [float(entry["curve"]["train"][-1]) for entry in state.entries if "curve" in entry]
    return fmean(found) if found else None


def _how(state: RowState) -> str:
    """Seeds, epochs, time and machine of the row's runs."""
    parts = []
    for entry in state.entries:
        sessions = entry.get("sessions", [entry])
        seconds = sum(session["seconds"] for session in sessions)
        hours = f"{seconds / 3600:.1f} h" if seconds >= 360 else f"{seconds:.0f} s"
        machines = entry.get("machines", [entry["machine"]])
        where = " and ".join(dict.fromkeys(machine["gpu"] or machine["cpu"] for machine in machines))
        epochs = " + ".join(str(session["epochs"]) for session in sessions)
        best = f" (best {entry['best_epoch']})" if len(sessions) == 1 else " in two sessions"
        counted = f"{epochs} epochs{best}, " if entry["epochs"] > 1 else ""
        parts.append(f"seed {entry['seed']}, {counted}{hours} on {where}")
    return ", ".join(parts)
