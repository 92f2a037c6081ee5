"""The tables of the ledger: a listing for the terminal, and Markdown for `docs/reproduction.md`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from wordtie.report.status import Mean, RowState

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
        printed = ", ".join(f"{name} {value:g}" for name, value in published.values.items())
    sizes = [count(published.parameters), count(state.entries[0]["parameters"] if state.entries else None)]
    status = f"{state.status}: {state.why}" if state.why else state.status
    ours = pair(state.ours("valid"), state.ours("test"))
    if values := state.values():
        ours = ", ".join(f"{name} {value.mean:.2f}" for name, value in values.items())
    if distance := measured(state, "subspace", "distance"):
        ours = f"distance {distance.mean:.3f}" + (f" ± {distance.spread:.3f}" if distance.seeds > 1 else "")
    return (
        state.row.name.split("/", 2)[2],
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
    parts = [
        f"{counts[name]} {name}" for name in ("reached", "not reached", "run", "running", "not run") if counts[name]
    ]
    return f"{len(states)} rows: {', '.join(parts)}"


def listing(states: Sequence[RowState]) -> str:
    """For the terminal: a line a row."""
    lines = []
    width = max(len(state.row.name) for state in states)
    for state in states:
        published, ours = (pair(*each) for each in _pairs(state))
        difference = main_difference(state)
        more = f": {state.why}" if state.why else "" if difference is None else f" ({percent(difference)})"
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
        lines += ["", *_notes(rows)]
    return "\n".join(lines).rstrip() + "\n"


def table_line(texts: Iterable[str]) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(text.replace("|", "\\|").replace("<", "&lt;") for text in texts) + " |"


def _notes(rows: Sequence[RowState]) -> list[str]:
    """What to know of some rows, once each, and of how long the runs took."""
    notes: dict[str, list[str]] = {}
    for state in rows:
        if state.row.note:
            notes.setdefault(state.row.note, []).append(state.row.name.split("/", 2)[2])
    lines = [f"{', '.join(names) if len(names) < len(rows) else 'All'}: {note}." for note, names in notes.items()]
    seeds = [f"{state.row.name.split('/', 2)[2]}: {_how(state)}" for state in rows if state.entries]
    return [*_paragraphs(lines), *(["Runs: " + "; ".join(seeds) + ".", ""] if seeds else [])]


def _paragraphs(lines: Iterable[str]) -> list[str]:
    return [part for line in lines for part in (line, "")]


def _how(state: RowState) -> str:
    """Seeds, epochs, time and machine of the row's runs."""
    parts = []
    for entry in state.entries:
        sessions = " in two sessions" if "sessions" in entry else ""
        hours = f"{entry['seconds'] / 3600:.1f} h" if entry["seconds"] >= 360 else f"{entry['seconds']:.0f} s"
        where = entry["machine"]["gpu"] or entry["machine"]["cpu"]
        epochs = f"{entry['epochs']} epochs (best {entry['best_epoch']}), " if entry["epochs"] > 1 else ""
        parts.append(f"seed {entry['seed']}, {epochs}{hours}{sessions} on {where}")
    return ", ".join(parts)
