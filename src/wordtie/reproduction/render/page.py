"""One HTML page that opens offline: every table with its figures, the predictions, the word vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from html import escape

from wordtie.pages.style import PALETTE, STYLE, wide
from wordtie.reproduction.ledger.status import RowState
from wordtie.reproduction.render import plots
from wordtie.reproduction.render.captions import paper_title, table_title
from wordtie.reproduction.render.columns import Column, columns
from wordtie.reproduction.render.figure import Figure
from wordtie.reproduction.render.next_words import next_words
from wordtie.reproduction.render.overview import Overview
from wordtie.reproduction.render.run_notes import notes, runs
from wordtie.reproduction.render.tables import by_table, summary
from wordtie.runs.provenance import code_version

HOW_TO_READ = """
<ul>
<li>Numbers are perplexities unless stated otherwise; – is what a paper does not print, or what has not been run,
and ± the standard deviation over seeds.</li>
<li>The difference is that of the test text where the paper has it; below zero is better than published.</li>
<li><b>Reached</b>: within 2 % of the published number, or better; of a correlation, within 0.02. <b>Run</b>:
there is none to compare with, or only one of another text.</li>
<li><b>Stages</b>: one that came out above the published validation perplexity was followed by another, which trained
its model once more, the rate restarted (inan-2017, footnote 4, but for base, where it changed nothing there). The
best on the validation text stands.</li>
</ul>"""
WITH_WORDS = "inan-2017/table-4"
"""The table that the section of next words belongs to."""


def page(rows: Sequence[RowState], vectors: str = "") -> str:
    """The whole page; `vectors` are tables as `word_vectors_table.tables` makes them.

    Raises `ImportError` where there are figures to draw and no matplotlib.
    """
    drawn = plots.figures(rows)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
            f"<title>wordtie: published and ours</title><style>{PALETTE}{STYLE}</style>",
            "<h1>Published and ours</h1>",
            f"<p>{escape(summary(rows))}. Made on {date.today()} by wordtie {escape(code_version())}.</p>",
            HOW_TO_READ,
            f"<nav>{''.join(_links(rows, drawn))}</nav>",
            *(_figure(figure) for figure in drawn if not figure.group),
            *_tables(rows, drawn),
            f'<h2 id="next-words">Next words ({_link(WITH_WORDS, "inan-2017, Table 4")})</h2>',
            *next_words(rows),
            '<h2 id="vectors">Word vectors</h2>',
            "<p>Spearman's ρ with people's judgements; the loss is that of the last epoch, in nats a prediction.</p>",
            *_from_markdown(vectors),
            "</html>",
            "",
        ]
    )


def _links(rows: Sequence[RowState], drawn: Sequence[Figure | Overview]) -> Iterator[str]:
    for paper in dict.fromkeys(state.row.paper for state in rows):
        yield _link(paper, paper_title(paper))
    yield _link("next-words", "Next words") + _link("vectors", "Word vectors")
    if drawn:
        yield f"<p>Figures: {''.join(_link(figure.name, figure.short_title) for figure in drawn)}</p>"


def _link(target: str, text: str) -> str:
    return f'<a href="#{target}">{escape(text)}</a>'


def _tables(rows: Sequence[RowState], drawn: Sequence[Figure | Overview]) -> Iterator[str]:
    shown = ""
    for of_table in by_table(rows):
        table = of_table[0].row.table
        if of_table[0].row.paper != shown:
            shown = of_table[0].row.paper
            yield f'<h2 id="{shown}">{escape(paper_title(shown))}</h2>'
        title = table_title(table)
        yield f'<h3 id="{table}">{escape(title)}</h3>'
        yield from _table(title, of_table, {figure.name for figure in drawn})
        for figure in drawn:
            if figure.group == table:
                yield _figure(figure)
        yield from (f"<p class=note>{escape(note)}</p>" for note in notes(of_table))
        yield from _runs(title, of_table)


def _figure(figure: Figure | Overview) -> str:
    named = f'<svg role="img" aria-label="{escape(figure.title)}" '
    drawing = plots.svg(figure).replace("<svg ", named, 1)
    return f'<figure id="{figure.name}">{drawing}<figcaption>{escape(figure.title)}.</figcaption></figure>'


def _table(title: str, rows: Sequence[RowState], drawn: set[str]) -> Iterator[str]:
    shape = [column for column in columns(rows) if column.title != "model"]  # it stands below the row's name
    yield f"{wide(title)}<table>"
    yield f"<tr>{''.join(f'<th{_kind(column)}>{escape(column.title)}</th>' for column in shape)}</tr>"
    for state in rows:
        filled = "".join(f"<td{_kind(column)}>{_text(column, state, drawn)}</td>" for column in shape[:-1])
        status = f'<td class="status {state.status.replace(" ", "-")}">{escape(shape[-1].text(state))}</td>'
        yield f"<tr>{filled}{status}</tr>"
    yield "</table></div>"


def _kind(column: Column) -> str:
    return " class=number" if column.is_number else ""


def _text(column: Column, state: RowState, drawn: set[str]) -> str:
    """What a cell says; a row that is no number links to where it is shown, though parts of it be missing yet."""
    if column.title == "row":
        return f"{escape(column.text(state))}<small>{escape(state.row.label)}</small>"
    figure = state.row.name.replace("/", "-")
    if column.title == "ours" and figure in drawn:
        return _link(figure, "the figure below")
    if column.title == "ours" and state.row.name.startswith(WITH_WORDS) and state.entries:
        return _link("next-words", "the next words below")
    return escape(column.text(state))


def _runs(title: str, rows: Sequence[RowState]) -> Iterator[str]:
    """How the runs went, folded away."""
    found = runs(rows)
    if not found:
        return
    yield f"<details><summary>{len(found)} run{'s' if len(found) > 1 else ''}: epochs, time, machine, code</summary>"
    yield f"{wide(f'Runs of {title}')}<table>"
    yield "<tr><th>row</th><th>seed</th><th>epochs</th><th>time</th><th>machine</th><th>code</th></tr>"
    for run in found:
        texts = (run.row, str(run.seed), run.epochs or "–", run.time, run.machine, run.code)
        yield f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in texts)}</tr>"
    yield "</table></div></details>"


def _from_markdown(text: str) -> Iterable[str]:
    """Paragraphs and tables, whose cells hold no markup but asterisks."""
    for block in filter(None, (block.strip().replace("*", "") for block in text.split("\n\n"))):
        if not block.startswith("|"):
            yield f"<p>{escape(block)}</p>"
            continue
        yield f"{wide('Word vectors')}<table>"
        lines = [line for line in block.split("\n") if set(line) - set("| -")]
        for line, tag in zip(lines, ["th", *["td"] * len(lines)], strict=False):
            filled = "".join(f"<{tag}>{escape(cell.strip())}</{tag}>" for cell in line.strip("|").split("|"))
            yield f"<tr>{filled}</tr>"
        yield "</table></div>"
