"""Tables have the columns that their rows need, and print any number short."""

from __future__ import annotations

import pytest

from tests.reproduction.ledger.test_ledger import made_up
from wordtie.reproduction.ledger.ledger import read_all, write_entry
from wordtie.reproduction.ledger.status import Mean, RowState, states
from wordtie.reproduction.papers.registry import ROWS, of_papers
from wordtie.reproduction.papers.row import Published, Row
from wordtie.reproduction.render.captions import PAPERS, TABLES
from wordtie.reproduction.render.columns import columns
from wordtie.reproduction.render.formats import number, percent
from wordtie.reproduction.render.tables import by_table, listing, markdown
from wordtie.reproduction.running.run_row import Place


def table(name: str) -> list[RowState]:
    return next(rows for rows in by_table(states([])) if rows[0].row.table == name)


def test_every_paper_table_and_figure_has_a_heading_of_what_it_is() -> None:
    names = [row.table for row in of_papers()]
    assert set(TABLES) == set(names)
    assert set(PAPERS) == {name.partition("/")[0] for name in names}
    assert f"### {TABLES['inan-2017/table-1']}\n" in markdown(states([]))


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("inan-2017/table-2", ["published valid / test", "ours valid / test", "difference"]),
        ("press-wolf-2017/table-4", ["rho published / ours"]),
        ("press-wolf-2017/table-1", [f"{name} published / ours" for name in ("source only", "target only", "both")]),
        ("inan-2017/figure-1", ["distance published / ours"]),
        ("inan-2017/figure-2", ["ours"]),
        (
            "gulordava-2018/table-2",
            [
                *("published valid / test", "ours valid / test", "difference"),
                *(f"{name} published / ours" for name in ("SimLex", "RW", "MEN")),
                "size printed / ours",
            ],
        ),
    ],
)
def test_columns_are_those_that_the_rows_need(name: str, titles: list[str]) -> None:
    assert [column.title for column in columns(table(name))] == ["row", "model", *titles, "status"]


def test_distances_stand_where_perplexities_mean_nothing(place: Place) -> None:
    for beta, distance in ((0.0, 0.93), (1.0, 0.41)):
        entry = made_up(ROWS[f"inan-2017/figure-1/a-beta-{beta}"])
        write_entry(place.results, {**entry, "measures": {"subspace": {"distance": distance}}})
    found = states(read_all(place.results))
    text = markdown(found)
    assert "| a-beta-1.0 | subspace distance, beta 1.0, tau 10 | 0.06 / 0.41 | – / 2.65M | not reached |" in text
    assert "| b-tau-10 | subspace distance, beta 1, tau 10 | 0.06 / 0.41 | – / 2.65M | not reached |" in text
    assert "| a-beta-0.0 | subspace distance, beta 0.0, tau 10 | – / 0.93 | – / 2.65M | run |" in text
    lines = [line.split(maxsplit=1) for line in listing(found).splitlines() if "figure-1/a-" in line]
    assert ["inan-2017/figure-1/a-beta-0.0", "–                  –  run (distance 0.93)"] in lines
    assert ["inan-2017/figure-1/a-beta-1.0", "–                  –  not reached (distance 0.41 of 0.06)"] in lines


def test_perplexity_and_similarity_stand_beside_those_of_a_larger_model(place: Place) -> None:
    name = "gulordava-2018/scaled-down/wikitext-2-200-200-non-tied"
    measured = {side: {"SimLex-999": rho, "Verb-143": 0.5, "Rare-Word": rho, "MEN": rho}
                for side, rho in (("input", 0.11), ("output", 0.22))}  # fmt: skip
    write_entry(place.results, {**made_up(ROWS[name], valid=130.0, test=120.0), "measures": {"similarity": measured}})
    text = markdown(states(read_all(place.results)))
    label = "200/200 non-tied"
    assert (
        f"| wikitext-2-200-200-non-tied | {label}, input vectors | 40.8 / 40.0 | 130.00 / 120.00 | – | 0.33 / 0.11 | "
        "0.52 / 0.11 | 0.55 / 0.11 | 66M / 2.65M | run |"
    ) in text
    assert (
        f"| wikitext-2-200-200-non-tied-output | {label}, output vectors | – | – | – | 0.34 / 0.22 | 0.50 / 0.22 | "
        "0.60 / 0.22 | – / 2.65M | run |"
    ) in text
    assert "| wikitext-2-200-200-tied | 200/200 tied | 40.5 / 39.7 | – | – | 0.39 / – |" in text


def test_a_mean_says_of_how_many_seeds_it_is(place: Place) -> None:
    row = ROWS["inan-2017/figure-1/a-beta-1.0"]
    distances = [0.40, 0.41, 0.42, 0.43]
    for seed, distance in enumerate(distances, start=1):
        measures = {"subspace": {"distance": distance}}
        write_entry(place.results, {**made_up(row, seed), "measures": measures})
        text = markdown(states(read_all(place.results)))
        assert f"not reached; {seed} seeds |" in text if seed > 1 else "not reached |" in text
    label = "subspace distance, beta 1.0, tau 10"
    assert f"| a-beta-1.0 | {label} | 0.06 / 0.41 ± 0.01 | – / 2.65M | not reached; 4 seeds |" in text
    assert "not reached (distance 0.41 ± 0.01 of 0.06), 4 seeds" in listing(states(read_all(place.results)))


def test_counts_have_no_decimals() -> None:
    assert [str(Mean.from_values(values)) for values in ([3451], [3451, 3451], [20.0, 20.0])] == [
        "3451", "3451", "20.00 ± 0.00",
    ]  # fmt: skip
    assert str(Mean.from_values([1, 2])) == "1.50 ± 0.71"


def test_published_numbers_lose_no_zero_that_counts() -> None:
    assert [number(each) for each in (92.6, 163.19, 100.0, 1e10)] == ["92.6", "163.19", "100.0", "1e+10"]


def test_a_run_that_blew_up_is_printed_short(row: Row, place: Place) -> None:
    for seed, valid in ((1, 1e303), (2, 2e303)):
        write_entry(place.results, made_up(row, seed, valid=valid, test=valid))
    printed = Row(row.name, row.label, Published(20.0, 20.0), row.changes)
    found = states(read_all(place.results), None, [printed])
    text = markdown(found) + listing(found)
    assert "1.5e+303 ± 7.1e+302" in text
    assert max(len(word) for word in text.split()) < 40
    assert percent(1e300) == "+1e+302 %"
    assert percent(-0.025) == "-2.5 %"
