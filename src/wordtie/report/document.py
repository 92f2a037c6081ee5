"""`docs/reproduction.md` and its figures: what stands between the markers is made from `results/`, and checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wordtie.papers.registry import ROWS
from wordtie.report import plots
from wordtie.report.ledger import Entry, LedgerError, is_stale, read_all
from wordtie.report.status import RowState, states
from wordtie.report.tables import markdown
from wordtie.text.files import write_text

BEGIN, END = "<!-- results: begin (made by `wordtie reproduce`; do not edit) -->", "<!-- results: end -->"


def figure_folder(document: Path) -> Path:
    """Beside the document."""
    return document.with_name("figures")


def generated(rows: Sequence[RowState]) -> str:
    """What belongs between the markers."""
    figures = plots.figures(rows)
    images = [f"![{figure.title}](figures/{figure.name}.svg)\n\n{figure.title}.\n" for figure in figures]
    return "\n".join([markdown(rows), *(["## Figures", "", *images] if images else [])]).rstrip() + "\n"


def update(document: Path, results: Path) -> bool:
    """Write the tables and figures anew; False where there is no such document with markers."""
    parts = _parts(document)
    if parts is None:
        return False
    rows = states(read_all(results))
    write_text(document, f"{parts[0]}{BEGIN}\n{generated(rows)}{END}{parts[2]}")
    for figure in plots.figures(rows):
        path = figure_folder(document) / f"{figure.name}.svg"
        if plots.digest_in(path) != figure.digest:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, plots.svg(figure))
    return True


def check(document: Path, results: Path) -> list[str]:
    """Everything that is wrong: entries changed by hand or of no row, tables and figures that do not match."""
    try:
        entries = read_all(results)
    except LedgerError as error:
        return [str(error)]
    problems = [problem for entry in entries if (problem := _problem(entry))]
    parts = _parts(document)
    if parts is None:
        return [*problems, f"{document}: missing, or without its markers"]
    rows = states(entries)
    if parts[1] != f"\n{generated(rows)}":
        problems.append(f"{document}: does not say what {results}/ says: run `wordtie reproduce --report`")
    for figure in plots.figures(rows):
        path = figure_folder(document) / f"{figure.name}.svg"
        if plots.digest_in(path) != figure.digest:
            problems.append(f"{path}: is not drawn from {results}/: run `wordtie reproduce --report`")
    return problems


def _problem(entry: Entry) -> str:
    name = f"{entry['row']}.seed-{entry['seed']}"
    if entry["row"] not in ROWS:
        return f"{name}: no such row"
    return f"{name}: of other settings than the row has now: run it anew" if is_stale(entry, ROWS[entry["row"]]) else ""


def _parts(document: Path) -> tuple[str, str, str] | None:
    """Before, between and after the markers."""
    if not document.exists():
        return None
    before, begin, rest = document.read_text(encoding="utf-8").partition(BEGIN)
    between, end, after = rest.partition(END)
    return (before, between, after) if begin and end else None
