"""Many rows at once: what is listed, what is left out, what a row's process is told."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import yaml

from tests.commands import Capture, output
from wordtie import cli
from wordtie.commands.reproduce import _parser
from wordtie.config import to_dict
from wordtie.errors import SettingsError
from wordtie.papers.registry import ROWS
from wordtie.papers.row import Published, Row
from wordtie.report import many
from wordtie.report.run_row import Place, run_row
from wordtie.training.lock import hold


def begun(row: Row, place: Place, metrics: str) -> Path:
    """A run folder of the row, with this `metrics.jsonl`."""
    folder = place.folder(row, 1)
    folder.mkdir(parents=True)
    (folder / "settings.yaml").write_text(yaml.safe_dump(to_dict(row.settings())))
    (folder / "metrics.jsonl").write_text(metrics)
    return folder


def test_a_damaged_row_is_listed_as_such_with_the_others(row: Row, place: Place, capsys: Capture) -> None:
    begun(row, place, '{"epoch": 1, "valid_perp\n')
    listed = output(["reproduce", "--list"], capsys)
    assert f"stopped: runs/{row.name}.seed-1/metrics.jsonl, line 1: damaged" in listed
    assert all(name in listed for name in ROWS)


def test_a_perplexity_that_means_nothing_is_listed_short(row: Row, place: Place, capsys: Capture) -> None:
    begun(row, place, '{"epoch": 1, "train_perplexity": 1e304, "valid_perplexity": 1e304, "seconds": 60}\n')
    assert "epoch 1, best validation 1e+304, 0:01:00 trained" in output(["reproduce", "--list", row.name], capsys)


def test_what_runs_elsewhere_is_no_failure(row: Row, place: Place, capsys: Capture) -> None:
    folder = begun(row, place, "")
    with (folder / ".lock").open("w") as file:
        assert hold(file)
        many.run_many([row], 1, place, side_by_side=1)
    assert capsys.readouterr().err.splitlines()[-1] == f"left out: {row.name}: running elsewhere"


def test_the_command_of_a_row_takes_a_limit(row: Row, place: Place) -> None:
    """The queue appends it."""
    program, *arguments = many.command(row, 1, place)[3:]
    told = _parser().parse_args([*arguments, "--max_time", "60s"])
    assert (program, told.rows, told.one, told.max_time) == ("reproduce", [row.name], True, "60s")


def test_a_drawn_row_waits_for_its_source_or_has_it(
    row: Row, place: Place, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = dataclasses.replace(row, kind="kneser_ney")
    drawn = Row("tests/table-1/drawn", "the same", Published(20.0, 20.0), kind="drawn", drawn_from=(row.name,))
    monkeypatch.setitem(ROWS, row.name, counted)
    monkeypatch.setitem(ROWS, drawn.name, drawn)
    assert cli.main(["reproduce", drawn.name]) == 2
    assert f"cannot be run here: {drawn.name}: waits for {row.name}\n" in capsys.readouterr().err
    assert run_row(counted, 1, place) == "done"
    assert cli.main(["reproduce", drawn.name]) == 2
    there = f"{drawn.name}: is drawn from {row.name}, which is there already\n"
    assert f"cannot be run here: {there}" in capsys.readouterr().err
    with pytest.raises(SettingsError, match="none of these 2 rows"):
        many.runnable([drawn, dataclasses.replace(drawn, not_run="not public")], [], place.results)
    assert capsys.readouterr().err == f"left out: {there}left out: {drawn.name}: not public\n"
    assert many.runnable([counted, drawn], [], place.results) == [counted]
    assert capsys.readouterr().err == f"left out: {there}"
