"""The page says what its tables are, when and by what it was made; it can be read, by day and by night."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date

import pytest

import wordtie
from tests.reproduction.ledger.test_ledger import made_up, stage
from wordtie.reproduction.ledger.ledger import read_all, write_entry
from wordtie.reproduction.ledger.status import states
from wordtie.reproduction.papers.inan_2017_table_4 import PHRASES
from wordtie.reproduction.papers.registry import ROWS
from wordtie.reproduction.render.captions import TABLES
from wordtie.reproduction.render.page import page
from wordtie.reproduction.render.run_notes import runs
from wordtie.reproduction.running.run_row import Place

TABLE_1 = "inan-2017/table-1/ptb"


@pytest.fixture
def html(place: Place) -> str:
    """Three models have ended, one of them with its next words."""
    predictions = {phrase: [["technology", 0.25]] for phrase in PHRASES}
    for name in ("small-base", "small-real", "large-base"):
        entry = made_up(ROWS[f"{TABLE_1}-{name}"], valid=90.0)
        write_entry(place.results, {**entry, "measures": {"predictions": predictions}})
    return page(states(read_all(place.results)))


def section(html: str, table: str) -> str:
    """From the heading of a table to the next."""
    found = re.search(rf'<h3 id="{table}">.*?(?=<h[23])', html, re.DOTALL)
    assert found
    return found[0]


def test_headings_say_what_tables_are_of(html: str) -> None:
    for name, title in TABLES.items():
        assert title.replace("'", "&#39;") in section(html, name)


def test_when_and_by_what_it_was_made_and_what_its_words_mean(html: str) -> None:
    assert f"Made on {date.today()} by wordtie {wordtie.__version__}" in html
    assert (
        "<b>Stages</b>: if a row ended above the published validation perplexity, its model was trained once more"
        in html
    )


def test_the_order_of_a_table_is_there(place: Place) -> None:
    for name, test in (("small-base", 90.0), ("small-re", 85.0), ("small-al", 86.0), ("small-real", 80.0)):
        write_entry(place.results, made_up(ROWS[f"{TABLE_1}-{name}"], valid=test))
    of_table = section(page(states(read_all(place.results))), "inan-2017/table-1")
    assert "Order on ptb, 200 units" in of_table


def test_a_figure_stands_below_its_rows_and_they_link_to_it_even_in_part(html: str) -> None:
    of_figure = section(html, "inan-2017/figure-2")
    assert of_figure.index("</table>") < of_figure.index('<figure id="inan-2017-figure-2-small">')
    assert '<td><a href="#inan-2017-figure-2-small">the figure below</a></td>' in of_figure
    assert "waits for inan-2017/table-1/ptb-small-al" in of_figure
    assert html.count("<figure") == 3, "small and large, and all rows at a glance"


def test_rows_of_next_words_link_to_them_and_show_no_perplexities(html: str) -> None:
    of_words = section(html, "inan-2017/table-4")
    assert of_words.count('<a href="#next-words">') == 1, "of the large base: the large REAL has not been run"
    assert "90.00" not in of_words


def test_links_lead_somewhere_and_to_one_place(html: str) -> None:
    ids = Counter(re.findall(r' id="([^"]+)"', html))
    assert ids.most_common(1)[0][1] == 1
    assert set(re.findall(r'[^:]href="#([^"]+)"', html)) <= set(ids)


def test_runs_are_folded_away_with_their_code(html: str) -> None:
    folded = re.findall(r"<details>.*?</details>", section(html, "inan-2017/table-1"), re.DOTALL)
    assert len(folded) == 1
    assert "<summary>Rows and seeds (3): " in folded[0]
    assert (
        "<td>ptb-small-base</td><td>1</td><td>3 epochs (best 2)</td><td>0.1 h</td><td>a CPU</td><td>1.0</td>"
        in (folded[0])
    )
    assert "Runs:" not in html


def test_a_run_names_all_that_its_stages_had(place: Place) -> None:
    row = ROWS[f"{TABLE_1}-small-re"]
    curve = {"train": [95.0, 90.0], "valid": [95.0, 90.0]}
    stages = [
        stage(row, epochs=2, seconds=1.0, curve=curve, changed={}, code_versions=["0.8", "0.9"],
              machine={"cpu": "another CPU", "gpu": None}),
        stage(row, epochs=4, seconds=2.0, curve=curve, changed=dict(row.later_stages[0]), code_version="1.0",
              machine={"cpu": "a CPU", "gpu": "a GPU"}),
    ]  # fmt: skip
    machine = {"cpu": "a CPU", "gpu": "a GPU"}
    write_entry(place.results, {**made_up(row, valid=90.0), "sessions": stages, "machine": machine})
    (run,) = runs([state for state in states(read_all(place.results)) if state.row == row])
    assert run.machine == "another CPU and a GPU"
    assert run.code == "0.8, 0.9, 1.0"
    assert str(run) == "seed 1, 2 + 4 epochs in 2 stages, 3 s on another CPU and a GPU"


def test_what_of_the_papers_words_is_not_legible_is_said_once(html: str) -> None:
    assert html.count("not legible") == 1
    assert re.search(r"state&nbsp;0\.04 … the rest is not legible", html)


def test_it_loads_nothing(html: str) -> None:
    assert not re.search(r"""\ssrc=|@import|url\(["']?(?!#)|<script|<link|[^:]href="(?!#)""", html)


def test_tables_scroll_within_themselves(html: str) -> None:
    assert html.count("<table>") == len(re.findall(r'<div class="wide"[^>]*>\s*<table>', html))
    assert ".wide { overflow-x: auto;" in html


def luminance(colour: str) -> float:
    """WCAG 2.1, relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("night", [False, True])
def test_every_colour_of_text_is_legible(html: str, night: bool) -> None:
    style = html[html.index("<style>") : html.index("</style>")]
    themes = [dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in style.split("@media (prefers-color-scheme")]
    colours = themes[1] if night else themes[0]
    paper = luminance(colours["paper"])
    for name in ("ink", "muted", "good", "bad", "link"):
        dark, light = sorted([luminance(colours[name]), paper])
        assert (light + 0.05) / (dark + 0.05) >= 4.5, name
    assert "opacity" not in style


def test_only_the_status_of_a_row_that_is_not_run_is_muted(html: str) -> None:
    assert '<td class="status not-run">not run: days on a CPU; name it in full to run it without a GPU</td>' in html
    assert "<tr class" not in html
