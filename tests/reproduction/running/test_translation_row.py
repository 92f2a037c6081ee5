"""Rows that train a translation model: trained once, entered with BLEU and shared subwords, compared in pairs."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.parallel_text import write_pairs
from wordtie.config import Settings
from wordtie.errors import RunFolderError
from wordtie.reproduction.ledger.ledger import LedgerError, entry_path, is_stale, read_entry, write_entry
from wordtie.reproduction.ledger.status import RowState, states
from wordtie.reproduction.papers.press_wolf_2017_translation import translation
from wordtie.reproduction.papers.row import Published, Row, settings_of
from wordtie.reproduction.render.run_notes import notes
from wordtie.reproduction.running.place import Place
from wordtie.reproduction.running.run_row import run_row
from wordtie.runs import provenance

pytest.importorskip("sacrebleu")
TABLE = "press-wolf-2017/table-8/made-en-de"


def row(text: Path, model: str, **changes: object) -> Row:
    of_all = {
        "data.corpus": str(text),
        "data.vocabulary_size": 40,
        "model.hidden": 8,
        "model.embedding": 4,
        "training.epochs": 2,
        "training.lr": 0.01,
    }
    name = f"{TABLE}-{model}"
    return Row(name, model, Published(), {**of_all, **changes}, kind="translation", shows=("measures", "bleu"))


def test_a_row_is_trained_once_and_compared_with_its_baseline(tmp_path: Path) -> None:
    text = write_pairs(tmp_path / "text", train=60)
    place = Place(runs=tmp_path / "runs", results=tmp_path / "results")
    tied = row(text, "twwt")
    baseline = row(text, "baseline", **{"model.tying": "none"})
    assert run_row(tied, 1, place) == "done"
    assert run_row(tied, 1, place) == "already"
    assert run_row(baseline, 1, place) == "done"
    path = entry_path(place.results, tied.name, 1)
    before = read_entry(path)
    assert "paired" not in before["measures"]
    assert run_row(tied, 1, place) == "done", "now that there is a baseline to compare it with"
    entry = read_entry(path)
    assert entry["weights_sha256"] == before["weights_sha256"]
    assert 0 <= entry["measures"]["paired"]["p_value"] <= 1
    assert entry["measures"]["paired"]["bleu"] == pytest.approx(entry["measures"]["bleu"]["test BLEU"])
    assert entry["measures"]["subwords"] == {"source only": 0, "target only": 0, "both": 6}
    assert entry["parameters"] < read_entry(entry_path(place.results, baseline.name, 1))["parameters"]
    (note,) = notes([RowState(tied, (entry,), "run")])
    paired, scores = entry["measures"]["paired"], entry["measures"]["translation"]
    assert f"twwt seed 1: {scores['test_low']:.2f} to {scores['test_high']:.2f}, p = {paired['p_value']:.3f}" in note
    assert f"`{scores['signature']}`" in note
    assert run_row(tied, 1, place) == "already"
    assert is_stale(entry, row(text, "twwt", **{"model.hidden": 9}))


def test_a_row_is_not_compared_with_a_baseline_that_was_stopped(tmp_path: Path) -> None:
    text = write_pairs(tmp_path / "text", train=100)
    place = Place(runs=tmp_path / "runs", results=tmp_path / "results")
    baseline = row(text, "baseline", **{"model.tying": "none"})
    assert run_row(baseline, 1, replace(place, max_seconds=0.01)) == "stopped"
    tied = row(text, "twwt")
    assert run_row(tied, 1, place) == "done"
    assert run_row(tied, 1, place) == "already"
    assert "paired" not in read_entry(entry_path(place.results, tied.name, 1))["measures"]


def test_a_row_whose_run_is_elsewhere_is_not_trained_for_the_comparison(tmp_path: Path) -> None:
    text = write_pairs(tmp_path / "text", train=60)
    place = Place(runs=tmp_path / "runs", results=tmp_path / "results")
    tied, baseline = row(text, "twwt"), row(text, "baseline", **{"model.tying": "none"})
    assert run_row(tied, 1, replace(place, runs=tmp_path / "elsewhere")) == "done"
    assert run_row(baseline, 1, place) == "done"
    assert run_row(tied, 1, place) == "already"


def test_a_row_that_runs_out_of_time_resumes(tmp_path: Path) -> None:
    text = write_pairs(tmp_path / "text", train=100)
    limited = Place(tmp_path / "runs", tmp_path / "results", max_seconds=0.01)
    outcomes = [run_row(row(text, "twwt"), 1, limited)]
    assert outcomes == ["stopped"]
    assert run_row(row(text, "twwt"), 1, Place(tmp_path / "runs", tmp_path / "results")) == "done"


def test_rows_of_the_paper_have_settings() -> None:
    trained = [each for each in translation() if each.kind == "translation"]
    assert len(trained) == 9
    for each in trained:
        assert not isinstance(settings_of(each), Settings)
    assert {state.status for state in states([], rows=translation())} == {"not run"}


def test_a_result_of_other_settings_is_not_entered(tmp_path: Path) -> None:
    text = write_pairs(tmp_path / "text", train=60)
    place = Place(runs=tmp_path / "runs", results=tmp_path / "results")
    assert run_row(row(text, "twwt"), 1, place) == "done"
    path = entry_path(place.results, row(text, "twwt").name, 1)
    before = path.read_bytes()
    with pytest.raises(RunFolderError, match=r"was started with other model\.hidden \(8, now 9\)"):
        run_row(row(text, "twwt", **{"model.hidden": 9}), 1, place)
    with pytest.raises(RunFolderError, match="has 2 epochs, not 1: move it away"):
        run_row(row(text, "twwt", **{"training.epochs": 1}), 1, place)
    assert path.read_bytes() == before
    shutil.rmtree(text)
    write_pairs(text, train=70)
    with pytest.raises(RunFolderError, match="was started with other text of train"):
        run_row(row(text, "twwt"), 1, place)
    assert path.read_bytes() == before
    path.write_bytes(before[:50])
    with pytest.raises(LedgerError, match="with --again"):
        run_row(row(text, "twwt"), 1, place)
    assert run_row(row(text, "twwt"), 1, replace(place, again=True)) == "done"
    assert run_row(row(text, "twwt"), 1, place) == "already"


def test_again_trains_what_another_version_trained_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = write_pairs(tmp_path / "text", train=100)
    place = Place(runs=tmp_path / "runs", results=tmp_path / "results", again=True)
    tied, baseline = row(text, "twwt"), row(text, "baseline", **{"model.tying": "none"})
    assert [run_row(each, 1, place) for each in (baseline, tied, tied)] == ["done", "done", "already"]
    monkeypatch.setattr(provenance, "code_version", lambda: "0.2.0")
    assert run_row(baseline, 1, replace(place, max_seconds=0.01)) == "stopped"
    begun = provenance.invocations(place.folder(baseline, 1))
    assert run_row(baseline, 1, place) == "done"
    assert provenance.invocations(place.folder(baseline, 1))[0] == begun[0], "it went on"


def test_a_row_is_compared_anew_with_another_baseline(tmp_path: Path) -> None:
    text = write_pairs(tmp_path / "text", train=60)
    place = Place(runs=tmp_path / "runs", results=tmp_path / "results")
    tied, baseline = row(text, "twwt"), row(text, "baseline", **{"model.tying": "none"})
    assert [run_row(each, 1, place) for each in (baseline, tied, tied)] == ["done", "done", "already"]
    entry = read_entry(entry_path(place.results, tied.name, 1))
    paired = {**entry["measures"]["paired"], "baseline_weights_sha256": 64 * "0"}
    write_entry(place.results, {**entry, "measures": {**entry["measures"], "paired": paired}})
    assert run_row(tied, 1, place) == "done"
    assert read_entry(entry_path(place.results, tied.name, 1))["measures"] == entry["measures"]
    assert run_row(tied, 1, place) == "already"
