"""Which stage of a row stands, what its entry is measured of, and which versions computed it."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.reproduction.ledger.test_ledger import made_up
from wordtie.errors import RunFolderError
from wordtie.reproduction.ledger.entry import stage_entry
from wordtie.reproduction.ledger.ledger import read_entry
from wordtie.reproduction.ledger.record import Entry, Stage
from wordtie.reproduction.papers.row import Published, Row
from wordtie.reproduction.running import run_row
from wordtie.reproduction.running.measures import MEASURES
from wordtie.reproduction.running.run_row import Place
from wordtie.runs import provenance
from wordtie.runs.result import TrainingResult


def entry_of(row: Row, place: Place) -> Entry:
    return read_entry(place.results / f"{row.name}.seed-1.json")


@pytest.mark.parametrize(("valid", "stands"), [((30.0, 20.0), 1), ((30.0, 40.0), 0)])
def test_the_validation_text_alone_says_which_stage_stands(
    row: Row, place: Place, monkeypatch: pytest.MonkeyPatch, valid: tuple[float, float], stands: int
) -> None:
    """On the test text the other one is better."""
    test = (10.0, 50.0) if stands == 1 else (50.0, 10.0)

    def scored(result: TrainingResult, folder: Path, spread: bool) -> Stage:
        stage = int(folder.name.endswith(".session-2"))
        return {
            **stage_entry(result, folder, spread),
            "valid_perplexity": valid[stage],
            "valid_nats": result.valid_tokens * math.log(valid[stage]),
            "test_perplexity": test[stage],
            "test_nats": result.test_tokens * math.log(test[stage]),
        }

    monkeypatch.setattr(run_row, "stage_entry", scored)
    twice = dataclasses.replace(row, later_stages=({"training.epochs": 3},), published=Published(1.01, 1.01))
    assert run_row.run_row(twice, 1, place) == "done"
    entry = entry_of(row, place)
    assert (entry["valid_perplexity"], entry["test_perplexity"]) == (valid[stands], test[stands])
    assert entry["weights_sha256"] == entry["sessions"][stands]["weights_sha256"]


def test_the_validation_text_alone_says_whether_there_is_a_second_stage(row: Row) -> None:
    twice = dataclasses.replace(row, published=Published(valid=20.0, test=20.0))
    assert run_row.falls_short(twice, made_up(row, valid=20.1, test=10.0))
    assert not run_row.falls_short(twice, made_up(row, valid=20.0, test=90.0))
    no_number = dataclasses.replace(row, published=Published(test=20.0))
    assert not run_row.falls_short(no_number, made_up(row, valid=90.0, test=90.0))


def test_a_result_of_other_weights_is_not_taken_over(row: Row, place: Place) -> None:
    run_row.run_row(row, 1, place)
    (place.results / f"{row.name}.seed-1.json").unlink()
    path = place.folder(row, 1) / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "weights_sha256": "0" * 64}))
    with pytest.raises(RunFolderError, match=r"result\.json: measured on other weights than .*--again trains it again"):
        run_row.run_row(row, 1, place)


def test_what_was_measured_of_other_weights_is_not_kept(
    row: Row, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[str, Any] = {"rho": 0.5}
    monkeypatch.setitem(MEASURES, "judged", lambda _: dict(found))
    judged = dataclasses.replace(row, measures=("judged",))
    assert run_row.run_row(judged, 1, place) == "done"
    found.clear()
    wider = dataclasses.replace(judged, changes={**row.changes, "model.hidden": 7})
    assert run_row.run_row(wider, 1, dataclasses.replace(place, again=True)) == "done"
    assert entry_of(row, place)["measures"] == {"judged": {}}


def test_an_entry_names_every_version_that_computed_it(row: Row, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a run of two versions is, with --again, one of another version."""
    longer = dataclasses.replace(row, changes={**row.changes, "training.epochs": 3})
    for version, part in (("1.0", row), ("2.0", longer)):
        monkeypatch.setattr(provenance, "code_version", lambda version=version: version)
        assert run_row.run_row(part, 1, place) == "done"
    assert entry_of(row, place)["code_versions"] == ["1.0", "2.0"]
    again = dataclasses.replace(place, again=True)
    assert run_row.run_row(longer, 1, again) == "done"
    assert "code_versions" not in entry_of(row, place)
    assert run_row.run_row(longer, 1, again) == "already"
