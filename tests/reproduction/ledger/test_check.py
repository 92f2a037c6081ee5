"""What a check of the ledger finds, and what a report is not made from."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.commands import Capture
from tests.reproduction.ledger.test_ledger import edit, made_up
from wordtie import cli
from wordtie.data.catalogue import known_texts
from wordtie.reproduction.ledger.ledger import LedgerError, write_entry
from wordtie.reproduction.papers.registry import ROWS
from wordtie.reproduction.papers.row import Published, Row
from wordtie.reproduction.render import document
from wordtie.reproduction.running.run_row import Place


@pytest.fixture
def page(row: Row, place: Place) -> Path:
    """A document that says what the results say: one entry."""
    write_entry(place.results, made_up(row))
    path = Path("reproduction.md")
    path.write_text("\n".join(document.markers("results")))
    assert document.update(path, place.results)
    assert document.check([path], place.results) == []
    return path


def test_a_result_of_settings_that_the_row_no_longer_has(
    row: Row, place: Place, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = dataclasses.replace(row, changes={**row.changes, "model.hidden": 9})
    monkeypatch.setitem(ROWS, row.name, changed)
    assert document.check([page], place.results) == [
        f"{row.name}.seed-1: of other settings than the row's: run it again"
    ]
    monkeypatch.delitem(ROWS, row.name)
    assert document.check([page], place.results) == [f"{row.name}.seed-1: no such row"]


def test_vectors_that_were_measured_beside_others_than_the_ledger_has(
    row: Row, place: Place, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tied = Row("tests/table-1/wt", "tied", Published(), {**row.changes, "model.head": "tied", "model.layers": 1})
    monkeypatch.setitem(ROWS, tied.name, tied)
    for seed, beside in ((1, "those of others"), (2, "its own")):
        write_entry(place.results, {**made_up(row, seed), "weights_sha256": "its own"})
        measures = {"agreement_with_small": {"small_weights_sha256": beside}}
        write_entry(place.results, {**made_up(tied, seed), "measures": measures})
    assert document.check([page], place.results) == [
        "tests/table-1/wt.seed-1: was measured beside another `small` than the ledger has: run it again"
    ]


def test_vectors_that_were_measured_beside_the_other_reading_of_small(
    row: Row, place: Place, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which the table of agreements says."""
    zaremba, tied = (
        Row(f"tests/table-1/{name}", name, Published(), {**row.changes, "model.layers": layers})
        for name, layers in (("small-zaremba", 1), ("wt", 3))
    )
    shown = Published(values={"rho": 0.5}, better="neither")
    own, beside = (
        Row(f"tests/table-4/{name}", name, shown, kind="drawn", drawn_from=(source,), shows=("measures", *shows))
        for name, source, shows in (
            ("input-output", row.name, ("agreement",)),
            ("input-tied", tied.name, ("agreement_with_small", "input~tied")),
        )
    )
    for each in (zaremba, tied, own, beside):
        monkeypatch.setitem(ROWS, each.name, each)
    measures = {"agreement_with_small": {"input~tied": {"rho": 0.5}, "small_weights_sha256": "zaremba's"}}
    write_entry(place.results, {**made_up(row), "weights_sha256": "small's", "measures": {"agreement": {"rho": 0.5}}})
    write_entry(place.results, {**made_up(zaremba), "weights_sha256": "zaremba's"})
    write_entry(place.results, {**made_up(tied), "measures": measures})
    document.update(page, place.results)
    assert document.check([page], place.results) == []
    assert "\n\ninput-tied: beside the vectors of `small-zaremba` in table 6" in page.read_text()
    write_entry(place.results, {**made_up(row), "weights_sha256": "zaremba's", "measures": {"agreement": {"rho": 0.5}}})
    document.update(page, place.results)
    assert "beside the vectors" not in page.read_text()


def test_results_of_one_corpus_that_are_of_different_texts(row: Row, place: Place, page: Path) -> None:
    for seed, train in ((1, "a"), (2, "another"), (3, "a")):
        data = {"corpus": "novel.txt", "train": train, "valid": "b", "test": "c"}
        write_entry(place.results, {**made_up(row, seed), "data": data})
    assert document.check([page], place.results) == [
        f"{row.name}.seed-2: is of another text than novel.txt is otherwise (it has another SHA-256): run it again"
    ]


def test_sentence_pairs_in_the_other_direction_are_another_text(row: Row, place: Place, page: Path) -> None:
    for seed, languages, train in ((1, "en-de", "a"), (2, "de-en", "b"), (3, "en-de", "c"), (4, "en-de", "a")):
        entry = made_up(row, seed)
        source, _, target = languages.partition("-")
        configuration = {**entry["configuration"], "data": {"source": source, "target": target}}
        data = {"corpus": "pairs.tsv", "train": train, "valid": train, "test": train}
        write_entry(place.results, {**entry, "configuration": configuration, "data": data})
    (problem,) = (each for each in document.check([page], place.results) if "another text" in each)
    assert problem.startswith(f"{row.name}.seed-3: is of another text than pairs.tsv en-de is otherwise")


def test_results_that_agree_on_a_text_that_is_not_the_known_one(row: Row, place: Place, page: Path) -> None:
    other = {"corpus": "ptb", "train": "a", "valid": "b", "test": "c"}
    for seed, data in ((1, other), (2, other), (3, {"corpus": "ptb", **known_texts("ptb")})):
        write_entry(place.results, {**made_up(row, seed), "data": data})
    assert [problem.partition(":")[0] for problem in document.check([page], place.results)] == [
        f"{row.name}.seed-1",
        f"{row.name}.seed-2",
    ]


def test_no_report_is_made_from_a_result_that_was_edited(row: Row, place: Place, page: Path, capsys: Capture) -> None:
    report = ["reproduce", "report", "--page", "report.html", "--document", str(page)]
    edit(place.results / f"{row.name}.seed-1.json", test_perplexity=1.0)
    before = page.read_text()
    assert cli.main(report) == LedgerError.exit_code
    assert "changed by hand" in capsys.readouterr().err
    assert not Path("report.html").exists()
    assert page.read_text() == before
