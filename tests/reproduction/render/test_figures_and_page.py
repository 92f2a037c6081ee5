"""Figures are drawn from results and say from which; the page opens offline."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from tests.reproduction.ledger.test_ledger import made_up
from wordtie import cli
from wordtie.reproduction.ledger.ledger import read_all, write_entry
from wordtie.reproduction.ledger.record import Entry
from wordtie.reproduction.ledger.status import RowState, states
from wordtie.reproduction.papers.inan_2017_table_4 import PHRASES
from wordtie.reproduction.papers.registry import ROWS
from wordtie.reproduction.render import document, plots
from wordtie.reproduction.render.figure import Figure
from wordtie.reproduction.render.overview import overview
from wordtie.reproduction.running.run_row import Place

SMALL = [f"inan-2017/table-1/ptb-small-{model}" for model in ("base", "real")]
PHRASE = "merieux said the government 's minister of industry science and"


@pytest.fixture
def rows(place: Place) -> list[RowState]:
    """Two of the small models have ended."""
    for name, valid in zip(SMALL, (92.0, 86.0), strict=True):
        predictions = {phrase: [["technology", 0.25], ["<unk>", 0.5]] for phrase in PHRASES}
        entry: Entry = {**made_up(ROWS[name], valid=valid, test=valid - 4), "measures": {"predictions": predictions}}
        write_entry(place.results, entry)
    return states(read_all(place.results))


def test_a_figure_is_there_once_there_are_results(rows: list[RowState]) -> None:
    every, figure = plots.figures(rows)
    assert isinstance(figure, Figure)
    assert (every.name, figure.name) == ("published-and-ours", "inan-2017-figure-2-small")
    assert figure.lines["VD-LSTM"] == ([1, 2, 3], [29.0, 92.0, 93.0])
    assert plots.figures(states([])) == []


def test_a_drawing_carries_what_it_is_drawn_from(rows: list[RowState], tmp_path: Path) -> None:
    (figure,) = plots.papers_figures(rows)
    path = tmp_path / "figure.svg"
    path.write_text(plots.svg(figure))
    assert plots.digest_in(path) == figure.digest
    assert plots.svg(figure) == path.read_text(), "the same numbers give the same drawing"
    other = dataclasses.replace(figure, lines={"VD-LSTM": ([1], [2.0])})
    assert plots.digest_in(path) != other.digest


def test_all_rows_at_a_glance(rows: list[RowState]) -> None:
    every = overview(rows)
    assert every is not None
    assert [(point.row, point.published, point.ours, point.reached) for point in every.points] == [
        ("inan-2017 ptb-small-base", 87.3, 88.0, True),
        ("inan-2017 ptb-small-real", 82.7, 82.0, True),
    ]
    worse = dataclasses.replace(every.points[0], ours=300.0, reached=False)
    two = dataclasses.replace(every, points=(worse, every.points[1]))
    assert "1 of the 2 rows that were run come within 2 % of it" in two.title
    assert len({every.digest, two.digest}) == 2
    drawing = plots.svg(two)
    assert all(text in drawing for text in ("300.00  (87.3)", "82.00  (82.7)", ">not reached</text>"))
    assert overview(states([])) is None


def test_the_document_has_the_figure_and_a_check_misses_it(rows: list[RowState], place: Place) -> None:
    page = Path("reproduction.md")
    page.write_text("\n".join(document.markers("results")))
    document.update(page, place.results)
    drawing = Path("figures", "inan-2017-figure-2-small.svg")
    assert str(drawing) in page.read_text()
    assert document.check([page], place.results) == []
    drawn = drawing.read_text()
    for edited in ("", drawn.replace('d="M ', 'd="M 1', 1)):
        drawing.write_text(edited)
        assert "is not made from" in document.check([page], place.results)[0]
    drawing.write_text(drawn)
    stray = drawing.with_name("kong-2019-figure-1.svg")
    stray.write_text(drawn)
    assert document.check([page], place.results) == [f"{stray}: is drawn from no result: remove it"]


def test_the_page_has_tables_figures_and_predictions_and_needs_no_network(
    rows: list[RowState], place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["reproduce", "report", "--page", "page.html"]) == 0
    html = Path("page.html").read_text()
    assert html.count("<table>") > 15
    assert "<svg" in html
    assert f'{PHRASE.replace(chr(39), "&#39;")} <b class="next">technology</b>' in html
    assert '<b class="next">technology&nbsp;0.25</b>' in html
    assert "&lt;unk&gt;&nbsp;0.50" in html
    assert not re.search(r'(src|href)="https?:', html)
    assert html.count("tabindex=") == len(re.findall(r'tabindex="0" role="region" aria-label="[^"]+"', html)) > 15
    assert html.count("<svg") == len(re.findall(r'<svg role="img" aria-label="[^"]+"', html))
