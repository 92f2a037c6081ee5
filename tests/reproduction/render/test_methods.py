"""The comparison of the methods: trained like the papers' rows, tabled apart from them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.reproduction.ledger.test_ledger import edit, made_up
from wordtie import cli
from wordtie.reproduction.ledger.ledger import read_all, write_entry
from wordtie.reproduction.ledger.record import score_of
from wordtie.reproduction.ledger.status import states
from wordtie.reproduction.papers import methods, minutes
from wordtie.reproduction.papers.registry import ROWS, of_methods, of_papers
from wordtie.reproduction.papers.row import Row
from wordtie.reproduction.render import document
from wordtie.reproduction.render.methods import TSV, own
from wordtie.reproduction.render.tables import summary
from wordtie.reproduction.running.run_row import Place

NAMES = [f"{methods.GROUP}/{name}" for name in ("untied", "tied", "vs-kn")]


@pytest.fixture
def page(row: Row, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty page; the rows are those of `NAMES`, on a text and at a size for tests."""
    size = {name: row.changes[name] for name in row.changes if name != "training.epochs"}
    for name in NAMES:
        changes = {**ROWS[name].changes, **size, "training.epochs": 1}
        monkeypatch.setitem(ROWS, name, dataclasses.replace(ROWS[name], changes=changes))
    page = Path("methods.md")
    page.write_text("\n".join(["before", *document.markers("methods"), "after"]))
    return page


def table(page: Path) -> dict[str, list[str]]:
    """The cells of each row, by its name."""
    lines = [line.strip("|").split("|") for line in page.read_text().splitlines() if line.startswith("|")]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in lines}


def test_rows_are_trained_and_tabled(page: Path, place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    for name in NAMES:
        assert cli.main(["reproduce", "run", name, "--document", str(page)]) == 0
    assert f"3 of {len(methods.ROWS)} rows are run" in page.read_text()
    entries = {entry["row"]: entry for entry in read_all(place.results)}
    cells = table(page)
    for name in NAMES:
        label, _, valid, test, against, *_ = cells[name.removeprefix(f"{methods.GROUP}/")]
        assert label == ROWS[name].label
        assert (valid, test) == tuple(f"{score_of(entries[name], split):.2f}" for split in ("valid", "test"))
        ratio = entries[name]["test_perplexity"] / entries[methods.REFERENCE]["test_perplexity"]
        assert against == ("–" if name == methods.REFERENCE else f"{100 * (ratio - 1):+.1f} %")
    lines = (place.results / TSV).read_text().splitlines()
    assert len(lines) == 4
    assert lines[1].split("\t")[3] == str(entries[NAMES[0]]["test_perplexity"])
    assert cli.main(["reproduce", "check", "--document", str(page)]) == 0


def test_a_check_finds_what_was_edited(page: Path, place: Place) -> None:
    path = write_entry(place.results, made_up(ROWS[NAMES[1]]))
    assert len(document.check([page], place.results)) == 2, "neither the table nor the file is there"
    document.update(page, place.results)
    assert document.check([page], place.results) == []
    (place.results / TSV).write_text("row\n")
    assert f"{TSV}: is not made from" in document.check([page], place.results)[0]
    document.update(page, place.results)
    page.write_text(page.read_text().replace("20.00", "19.00"))
    assert "does not say" in document.check([page], place.results)[0]
    edit(path, test_perplexity=1.0)
    assert "changed by hand" in document.check([page], place.results)[0]


def test_the_papers_tables_and_counts_know_nothing_of_them(row: Row, place: Place, page: Path) -> None:
    papers = Path("reproduction.md")
    papers.write_text("\n".join(document.markers("results")))
    document.update(papers, place.results)
    before = papers.read_text()
    write_entry(place.results, made_up(ROWS[NAMES[1]]))
    document.update(papers, place.results)
    assert papers.read_text() == before
    assert "methods/" not in before
    assert summary(states([], rows=of_papers())) in before
    assert {each.name for each in of_papers()} == set(ROWS) - set(methods.ROWS) - {
        name for group in minutes.GROUPS for name in group.rows
    }


@pytest.mark.parametrize(
    ("valid", "when"), [([9.0, 8.0, 9.5, 8.5], "from epoch 4 on"), ([9.0, 8.0, 7.0, 9.0], "at no epoch")]
)
def test_the_table_says_when_averaging_began(place: Place, page: Path, valid: list[float], when: str) -> None:
    """What is found after the last epoch has no effect any more."""
    row = ROWS[f"{methods.GROUP}/nt-asgd"]
    write_entry(place.results, {**made_up(row), "curve": {"train": valid, "valid": valid}})
    document.update(page, place.results)
    assert f"nt-asgd, seed 1: the mean of the weights is what was measured {when}." in page.read_text()


def test_one_size_one_budget_and_no_two_rows_alike() -> None:
    found = [row.settings() for row in of_methods()]
    assert {(each.data.corpus, each.training.epochs, each.training.patience) for each in found} == {("ptb", 8, 0)}
    assert {each.model.hidden for each in found} == {200}
    assert len({str(each) for each in found}) == len(found) > 20


def test_the_table_shows_every_setting_that_is_the_rows_own() -> None:
    for state in states([], rows=of_methods()):
        restored = {**methods.COMMON, **own(state)}
        assert restored == state.row.changes


def test_fast_and_readable_training_end_alike() -> None:
    """The promise of docs/performance.md, on the results of this repository."""
    found = {entry["row"]: entry for entry in read_all(Path(__file__).parents[3] / "results")}
    pair = [found.get(f"{methods.GROUP}/{name}") for name in ("real", "real-readable")]
    if None in pair:
        pytest.skip("not both trained yet: `wordtie reproduce methods/ptb-200/real`")
    fast, readable = (each["test_perplexity"] for each in pair if each)
    assert abs(fast - readable) <= 0.3
