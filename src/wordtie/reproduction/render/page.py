"""One HTML page that opens offline: every table with its figures, the predictions, the word vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from markupsafe import Markup, escape

from wordtie.pages.render import render
from wordtie.reproduction.ledger.status import RowState
from wordtie.reproduction.render import plots
from wordtie.reproduction.render.captions import paper_title, table_title
from wordtie.reproduction.render.columns import Column, columns
from wordtie.reproduction.render.figure import Figure
from wordtie.reproduction.render.next_words import questions
from wordtie.reproduction.render.orders import orders
from wordtie.reproduction.render.overview import Overview
from wordtie.reproduction.render.run_notes import Run, notes, runs
from wordtie.reproduction.render.tables import by_table, summary
from wordtie.runs.provenance import code_version

WITH_WORDS = "inan-2017/table-4"
"""The table that the section of next words belongs to."""


@dataclass(frozen=True)
class Table:
    """A table of a paper, in the form that the template expects."""

    paper: str
    name: str
    """paper/table."""
    title: str
    columns: Sequence[Column]
    rows: Sequence[RowState]
    notes: Sequence[str]
    runs: Sequence[Run]


def page(rows: Sequence[RowState], vectors: str = "") -> str:
    """Return the whole page; `vectors` are tables as `word_vectors_table.tables` returns them.

    Raises `ImportError` if there are figures to draw and no matplotlib.
    """
    figures = plots.figures(rows)
    return render(
        "reproduction.html",
        summary=summary(rows),
        today=date.today(),
        version=code_version(),
        papers={state.row.paper: paper_title(state.row.paper) for state in rows},
        figures=figures,
        drawings={figure.name: _drawing(figure) for figure in figures},
        tables=[_table(of_table) for of_table in by_table(rows)],
        links=dict(_links(rows, {figure.name for figure in figures})),
        next_words_of=WITH_WORDS,
        questions=list(questions(rows)),
        vectors=list(_from_markdown(vectors)),
    )


def _drawing(figure: Figure | Overview) -> Markup:
    label = escape(figure.title)
    return Markup(plots.svg(figure).replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1))


def _table(rows: Sequence[RowState]) -> Table:
    row = rows[0].row
    shown = [column for column in columns(rows) if column.title != "model"]  # it is below the row's name
    return Table(row.paper, row.table, table_title(row.table), shown, rows, [*notes(rows), *orders(rows)], runs(rows))


def _links(rows: Sequence[RowState], drawn: set[str]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Yield links by (column, row) of their cells: a row without a number links to its figure, even a partial one."""
    for state in rows:
        figure = state.row.name.replace("/", "-")
        if figure in drawn:
            yield ("ours", state.row.name), (figure, "the figure below")
        elif state.row.name.startswith(WITH_WORDS) and state.entries:
            yield ("ours", state.row.name), ("next-words", "the next words below")


def _from_markdown(text: str) -> Iterator[str | list[list[str]]]:
    """Yield paragraphs, and tables as rows of cells, without asterisks, which are the only markup."""
    for block in filter(None, (block.strip().replace("*", "") for block in text.split("\n\n"))):
        if block.startswith("|"):
            lines = [line for line in block.split("\n") if set(line) - set("| -")]
            yield [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        else:
            yield block
