"""Rows that train word vectors: trained once, entered with word similarity, tied vectors beside untied ones."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wordtie.reproduction.ledger.ledger import LedgerError, entry_path, is_stale, read_entry, write_sealed
from wordtie.reproduction.ledger.status import states
from wordtie.reproduction.papers import registry
from wordtie.reproduction.papers.press_wolf_2017_vectors import ROWS, TABLE_2
from wordtie.reproduction.papers.row import Row, VectorSettings, settings_of
from wordtie.reproduction.render import document
from wordtie.reproduction.render.tables import markdown
from wordtie.reproduction.running.batch import runnable
from wordtie.reproduction.running.place import Place
from wordtie.reproduction.running.run_row import run_row
from wordtie.vectors.agreement import agreement_of
from wordtie.vectors.benchmarks import BENCHMARKS
from wordtie.vectors.extraction import sides, vectors_of

pytest.importorskip("numba")
TABLE = "press-wolf-2017/table-2"


@pytest.fixture
def rows(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Row]:
    """The rows of table 2 that train, on a small text, with benchmarks of its words."""
    monkeypatch.setenv("WORDTIE_DATA", str(tmp_path / "data"))
    ids = np.random.default_rng(0).zipf(1.5, (200, 10)) % 40
    text = tmp_path / "text.txt"
    text.write_text("".join(" ".join(f"w{n}" for n in line) + "\n" for line in ids))
    (tmp_path / "data" / "wordsim").mkdir(parents=True)
    for file in BENCHMARKS.values():
        pairs = "".join(f"w{n} w{n + 1} {n % 7}\n" for n in range(1, 20))
        (tmp_path / "data" / "wordsim" / file).write_text(pairs)
    small = {"data.corpus": str(text), "word2vec.vector_size": 8, "word2vec.epochs": 1}
    found = {}
    for side in ("input", "tied"):
        row = ROWS[f"{TABLE}/{side}"]
        found[side] = replace(row, changes={**row.changes, **small})
        monkeypatch.setitem(registry.ROWS, row.name, found[side])
    return found


def test_rows_are_trained_once_and_tied_vectors_compared(rows: dict[str, Row], place: Place) -> None:
    tied, untied = rows["tied"], rows["input"]
    assert run_row(tied, 1, place) == "done"
    assert run_row(tied, 1, place) == "already"
    path = entry_path(place.results, tied.name, 1)
    before = read_entry(path)
    assert before["measures"].keys() == {"similarity"}, "there are no untied vectors yet"
    assert run_row(untied, 1, place) == "done"
    assert run_row(tied, 1, place) == "done", "now there are"
    entry = read_entry(path)
    assert entry["weights_sha256"] == before["weights_sha256"]
    assert entry["seconds"] == before["seconds"], "it was measured again, not trained"
    measured = entry["measures"]["agreement_with_untied"]
    vectors = vectors_of(place.folder(tied, 1))
    for side, each in sides(place.folder(untied, 1)).items():
        assert measured[f"{side}~tied"]["rho"] == pytest.approx(agreement_of(each, vectors).rho, abs=1e-4)
    beside = read_entry(entry_path(place.results, untied.name, 1))
    assert measured["untied_weights_sha256"] == beside["weights_sha256"]
    assert beside["measures"].keys() == {"similarity", "agreement"}
    assert entry["parameters"] < beside["parameters"]
    assert run_row(tied, 1, place) == "already"
    shutil.rmtree(place.folder(untied, 1))
    assert run_row(tied, 1, place) == "already", "what it was compared with may be gone"


def test_the_tables_show_them(rows: dict[str, Row], place: Place) -> None:
    for side in ("input", "tied"):
        run_row(rows[side], 1, place)
    found = states([read_entry(entry_path(place.results, row.name, 1)) for row in rows.values()])
    shown = {state.row.name: state for state in found if state.entries}
    names = {f"{TABLE}/{side}" for side in TABLE_2}
    names |= {f"press-wolf-2017/table-4/word2vec-{pair}" for pair in ("input-output", "input-tied", "output-tied")}
    assert shown.keys() == names
    assert all(state.values().keys() == state.row.published.values.keys() for state in shown.values())
    assert all(state.ours("test") is None for state in shown.values())
    assert "Runs: input: seed 1, " in markdown(found)
    assert document.check([], place.results) == []


def test_agreement_with_vectors_that_were_replaced_is_found(rows: dict[str, Row], place: Place) -> None:
    for side in ("input", "tied"):
        run_row(rows[side], 1, place)
    path = entry_path(place.results, rows["input"].name, 1)
    write_sealed(path, {**read_entry(path), "weights_sha256": "0" * 64})
    assert document.check([], place.results) == [
        f"{TABLE}/tied.seed-1: was measured beside another `input` than the ledger has: run it again"
    ]


def test_other_settings_are_another_result_but_threads_are_not(rows: dict[str, Row], place: Place) -> None:
    row = rows["input"]
    run_row(row, 1, place)
    entry = read_entry(entry_path(place.results, row.name, 1))
    assert not is_stale(entry, row)
    assert not is_stale(entry, replace(row, changes={**row.changes, "word2vec.workers": 2}))
    assert is_stale(entry, replace(row, changes={**row.changes, "word2vec.window": 4}))
    assert is_stale(entry, replace(row, changes={**row.changes, "data.min_count": 6}))
    assert is_stale(entry, replace(row, changes={"data.corpus": "ptb"}, kind="train"))


def test_no_training_is_begun_in_a_limited_time(
    rows: dict[str, Row], place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runnable([rows["input"]], [], place.results) == [rows["input"]]
    assert run_row(rows["input"], 1, replace(place, max_seconds=9.0)) == "stopped"
    assert "run it without --max-time" in capsys.readouterr().err
    assert not place.folder(rows["input"], 1).exists()


def test_an_entry_of_a_language_model_needs_its_perplexities(rows: dict[str, Row], place: Place) -> None:
    run_row(rows["input"], 1, place)
    path = entry_path(place.results, rows["input"].name, 1)
    entry = read_entry(path)
    assert "valid_nats" not in entry
    write_sealed(path, {**entry, "configuration": {"data": entry["configuration"]["data"]}})
    with pytest.raises(LedgerError, match="test_nats is missing"):
        read_entry(path)


def test_the_papers_rows_name_text_and_minimum_count() -> None:
    for side, head in (("input", "untied"), ("tied", "tied")):
        settings = settings_of(ROWS[f"{TABLE}/{side}"], 3)
        assert isinstance(settings, VectorSettings)
        assert (settings.data.corpus, settings.data.min_count) == ("text8", 5)
        assert (settings.word2vec.algorithm, settings.word2vec.head, settings.word2vec.seed) == ("skipgram", head, 3)
