"""The rows of text8 from its archive to the tables, on a stand-in for the archive."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.data.test_catalogue import TEXT8, know_text8, pack_text8
from wordtie.errors import DataError
from wordtie.reproduction.ledger.ledger import read_all
from wordtie.reproduction.ledger.status import states
from wordtie.reproduction.papers import registry
from wordtie.reproduction.papers.row import Row
from wordtie.reproduction.running.place import Place
from wordtie.reproduction.running.run_row import run_row
from wordtie.vectors.benchmarks import BENCHMARKS

PAPER = "press-wolf-2017"
SMALLER = {"model.hidden": 4, "training.epochs": 1, "training.streams": 2, "training.steps": 5}


@pytest.fixture
def row(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Row:
    """The tied language model of table 7, made small."""
    monkeypatch.setenv("WORDTIE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "data" / "wordsim").mkdir(parents=True)
    for file in BENCHMARKS.values():
        pairs = "one two 1\nthree four 2\nfive six 3\nseven eight 4\n"
        (tmp_path / "data" / "wordsim" / file).write_text(pairs)
    found = registry.ROWS[f"{PAPER}/table-7/text8-wt"]
    found = replace(found, changes={**found.changes, **SMALLER})
    monkeypatch.setitem(registry.ROWS, found.name, found)
    return found


def test_a_language_model_of_text8_is_trained_and_its_vectors_measured(
    row: Row, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(TEXT8)
    know_text8(monkeypatch, pack_text8(tmp_path / "data/text8/text8.zip"), (size - 300, size - 150, size))
    assert run_row(row, 1, place) == "done"
    shown = {state.row.name: state for state in states(read_all(place.results)) if state.entries}
    assert shown.keys() == {row.name, f"{PAPER}/table-3/text8-tied"}
    (entry,) = shown[row.name].entries
    assert entry["data"]["corpus"] == "text8"
    assert entry["configuration"]["data"]["min_count"] == 11
    assert shown[row.name].difference is not None, "it is the paper's text"
    assert shown[f"{PAPER}/table-3/text8-tied"].values().keys() == row_values(f"{PAPER}/table-3/text8-tied")


def row_values(name: str) -> set[str]:
    return set(registry.ROWS[name].published.values)


def test_without_the_archive_the_error_says_where_to_put_it(
    row: Row, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    know_text8(monkeypatch, b"", (1, 2, 3), url="http://127.0.0.1:9/text8.zip")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    with pytest.raises(
        DataError, match=r"text8: cannot be downloaded from http://127\.0\.0\.1:9/.*\$WORDTIE_DATA/text8"
    ):
        run_row(row, 1, place)
