"""One HTML page that opens offline: every table, the figures, the predictions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from wordtie.papers.inan_2017_table_4 import PHRASES, PUBLISHED
from wordtie.report import plots
from wordtie.report.status import RowState
from wordtie.report.tables import HEADER, TITLES, by_table, cells, notes, summary

STYLE = """
:root { color-scheme: light dark; --ink: #2e3440; --paper: #fff; --line: #d8dee9; --good: #3b7a3b; --bad: #a8442f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5e9f0; --paper: #22262e; --line: #434c5e; --good: #a3be8c;
  --bad: #e08b76; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 76rem;
  margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.number { text-align: right; white-space: nowrap; } .long { white-space: normal; min-width: 15rem; }
.reached { color: var(--good); font-weight: 600; } .not-reached { color: var(--bad); font-weight: 600; }
tr.not-run { opacity: .6; } td:first-child { min-width: 10rem; } .running { font-style: italic; }
figure { margin: 1rem 0 2rem; background: #fff; padding: .5rem; width: fit-content; max-width: 100%; }
figure svg { max-width: 100%; height: auto; } figcaption { color: #2e3440; font-size: 14px; }
nav a { margin-right: 1rem; } p.note { font-size: 13px; opacity: .8; margin: .2rem 0; } b.next { color: var(--good); }
"""
NUMBERS = range(2, 6)
"""Columns of `HEADER` that are aligned to the right."""
LONG = 30
"""Letters from which on such a cell is broken."""


def page(rows: Sequence[RowState], vectors: str = "") -> str:
    """The whole page; `vectors` are tables as `word_vectors_table.tables` makes them.

    Raises `ImportError` where there are figures to draw and no matplotlib.
    """
    papers = dict.fromkeys(paper for paper, _, _ in by_table(rows))
    links = "".join(f'<a href="#{paper}">{escape(TITLES.get(paper, paper))}</a>' for paper in papers)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
            f"<title>wordtie: published and ours</title><style>{STYLE}</style>",
            "<h1>Published and ours</h1>",
            f"<p>{escape(summary(rows))}. Perplexities. The difference is that of the test text where the paper has it;"
            " below zero is better than published. Reached: within 2 % of the published number, or better.</p>",
            f'<nav>{links}<a href="#figures">Figures</a><a href="#predictions">Predictions</a>'
            '<a href="#vectors">Word vectors</a></nav>',
            *_tables(rows),
            '<h2 id="figures">Figures</h2>',
            *_figures(rows),
            *_predictions(rows),
            '<h2 id="vectors">Word vectors</h2>',
            *_from_markdown(vectors),
            "</html>",
            "",
        ]
    )


def _tables(rows: Sequence[RowState]) -> Iterable[str]:
    shown = ""
    for paper, table, of_table in by_table(rows):
        if paper != shown:
            yield f'<h2 id="{paper}">{escape(TITLES.get(paper, paper))}</h2>'
            shown = paper
        yield f"<h3>{escape(table.replace('-', ' '))}</h3><div class=wide><table>"
        yield f"<tr>{''.join(_cell('th', n, text) for n, text in enumerate(HEADER))}</tr>"
        for state in of_table:
            texts = cells(state)
            filled = "".join(_cell("td", n, text) for n, text in enumerate(texts[:-1]))
            kind = state.status.replace(" ", "-")
            row_class = ' class="not-run"' if kind == "not-run" else ""
            yield f'<tr{row_class}>{filled}<td class="{kind}">{escape(texts[-1])}</td></tr>'
        yield "</table></div>"
        yield from (f"<p class=note>{escape(note)}</p>" for note in notes(of_table))


def _from_markdown(text: str) -> Iterable[str]:
    """Paragraphs and tables, whose cells hold no markup but asterisks."""
    for block in filter(None, (block.strip().replace("*", "") for block in text.split("\n\n"))):
        if not block.startswith("|"):
            yield f"<p>{escape(block)}</p>"
            continue
        yield "<div class=wide><table>"
        lines = [line for line in block.split("\n") if set(line) - set("| -")]
        for line, tag in zip(lines, ["th", *["td"] * len(lines)], strict=False):
            filled = "".join(f"<{tag}>{escape(cell.strip())}</{tag}>" for cell in line.strip("|").split("|"))
            yield f"<tr>{filled}</tr>"
        yield "</table></div>"


def _cell(tag: str, column: int, text: str) -> str:
    kind = "" if column not in NUMBERS else " class=number" if len(text) < LONG else ' class="number long"'
    return f"<{tag}{kind}>{escape(text)}</{tag}>"


def _figures(rows: Sequence[RowState]) -> Iterable[str]:
    drawn = plots.figures(rows)
    if not drawn:
        yield "<p>No run that a figure could be drawn from has ended yet.</p>"
    for figure in drawn:
        yield f"<figure>{plots.svg(figure)}<figcaption>{escape(figure.title)}</figcaption></figure>"


def _predictions(rows: Sequence[RowState]) -> Iterable[str]:
    """inan-2017, Table 4: as printed, and by every model that was asked."""
    asked: dict[str, Any] = {f"published: {label}": found for label, found in PUBLISHED.items()}
    asked |= {
        f"ours: {state.row.label}": state.entries[0]["measures"]["predictions"]
        for state in rows
        if state.row.kind == "train" and state.entries and "predictions" in state.entries[0].get("measures", {})
    }
    yield '<h2 id="predictions">Ten likeliest next words (inan-2017, Table 4)</h2>'
    for phrase, following in PHRASES.items():
        yield f"<p>{escape(phrase)} <b class=next>{escape(following)}</b></p><div class=wide><table>"
        for label, predictions in asked.items():
            words = " ".join(
                f"{'<b class=next>' if word == following else ''}{escape(word)} {probability:.2f}"
                f"{'</b>' if word == following else ''}&ensp;"
                for word, probability in predictions[phrase]
            )
            yield f"<tr><td>{escape(label)}</td><td>{words}</td></tr>"
        yield "</table></div>"
