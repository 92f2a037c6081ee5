"""Many rows at once: what is listed, what is left out, what a row's process is told."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
import yaml

from tests.commands import Capture, output
from wordtie import cli
from wordtie.commands.reproduce import run_parser
from wordtie.config import to_dict
from wordtie.errors import SettingsError
from wordtie.reproduction.papers.registry import ROWS
from wordtie.reproduction.papers.row import Published, Row
from wordtie.reproduction.running import batch
from wordtie.reproduction.running.run_row import Place, run_row
from wordtie.storage.lock import hold


def begun(row: Row, place: Place, metrics: str) -> Path:
    """A run folder of the row, with this `metrics.jsonl`."""
    folder = place.folder(row, 1)
    folder.mkdir(parents=True)
    (folder / "settings.yaml").write_text(yaml.safe_dump(to_dict(row.settings())))
    (folder / "metrics.jsonl").write_text(metrics)
    return folder


def test_a_damaged_row_is_listed_as_such_with_the_others(row: Row, place: Place, capsys: Capture) -> None:
    begun(row, place, '{"epoch": 1, "valid_perp\n')
    listed = output(["reproduce", "list"], capsys)
    assert f"stopped: runs/{row.name}.seed-1/metrics.jsonl, line 1: damaged" in listed
    assert all(name in listed for name in ROWS)


def test_a_perplexity_that_means_nothing_is_listed_short(row: Row, place: Place, capsys: Capture) -> None:
    begun(row, place, '{"epoch": 1, "train_perplexity": 1e304, "valid_perplexity": 1e304, "seconds": 60}\n')
    assert "epoch 1, best validation 1e+304, 0:01:00 trained" in output(["reproduce", "list", row.name], capsys)


def test_what_runs_elsewhere_is_no_failure(row: Row, place: Place, capsys: Capture) -> None:
    folder = begun(row, place, "")
    with (folder / ".lock").open("w") as file:
        assert hold(file)
        batch.run_many([row], 1, place, side_by_side=1)
    assert capsys.readouterr().err.splitlines()[-1] == f"left out: {row.name}: running elsewhere"


def test_the_command_of_a_row_takes_a_limit(row: Row, place: Place) -> None:
    job = batch.job_of(row, 1, place)
    program, task, *arguments = job.command(59.2)[3:]
    told = run_parser().parse_args(arguments)
    assert (program, task, told.rows, told.one, told.max_time) == ("reproduce", "run", [row.name], True, "60s")
    assert "--max-time" not in job.command(float("inf"))


def test_a_row_says_that_it_stopped(row: Row, place: Place) -> None:
    job = batch.job_of(row, 1, place)
    assert job.is_stopped(["epoch 1", f"{row.name}: stopped"])
    assert not job.is_stopped([f"{row.name}: done"])


def test_of_two_stages_the_one_begun_last_is_shown(row: Row, place: Place) -> None:
    job = batch.job_of(dataclasses.replace(row, later_stages=({"training.epochs": 40},)), 1, place)
    first, second = job.folders
    assert job.progress(True).epochs == row.settings().training.epochs
    for folder, began in ((first, 1), (second, 2)):
        folder.mkdir(parents=True)
        (folder / "settings.yaml").touch()
        os.utime(folder / "settings.yaml", (began, began))
    assert job.progress(True).epochs == 40
    os.utime(first / "settings.yaml", (3, 3))
    assert job.progress(True).epochs == row.settings().training.epochs, "it is trained again"


@pytest.mark.parametrize("again", [False, True])
def test_a_rows_process_is_told_all_that_was_asked(row: Row, again: bool) -> None:
    place = Place(Path("some runs"), Path("some results"), threads=2, again=again)
    told = run_parser().parse_args(batch.command(row, 7, place)[5:])
    assert (told.seed, told.threads, told.again) == (7, 2, again)
    assert (told.runs, told.results) == (place.runs, place.results)


def test_a_run_that_fails_is_told_of_and_is_an_exit_code(row: Row, place: Place, capsys: Capture) -> None:
    """A process of its own does not know this row; that another run stands beside it is no success."""
    elsewhere = dataclasses.replace(row, name="tests/table-1/elsewhere")
    with (begun(elsewhere, place, "") / ".lock").open("w") as file:
        assert hold(file)
        with pytest.raises(batch.QueueError, match="1 of 2 runs failed; the others stand") as failure:
            batch.run_many([row, elsewhere], 1, place, side_by_side=2)
    assert failure.value.exit_code == 7
    assert f"{row.name}: no row or group of rows is called {row.name}" in capsys.readouterr().err


def test_a_row_for_a_gpu_runs_without_one_where_it_is_named_in_full(
    row: Row, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    large = dataclasses.replace(row, needs="gpu")
    assert batch.runnable([large], [row.name], place.results) == [large]
    with pytest.raises(SettingsError, match=rf"cannot be run here: {row.name}: days on a CPU"):
        batch.runnable([large], [row.table], place.results)


def test_a_drawn_row_waits_for_its_source_or_has_it(
    row: Row, place: Place, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = dataclasses.replace(row, kind="kneser_ney")
    drawn = Row("tests/table-1/drawn", "the same", Published(20.0, 20.0), kind="drawn", drawn_from=(row.name,))
    monkeypatch.setitem(ROWS, row.name, counted)
    monkeypatch.setitem(ROWS, drawn.name, drawn)
    assert cli.main(["reproduce", "run", drawn.name]) == 2
    assert f"cannot be run here: {drawn.name}: waits for {row.name}\n" in capsys.readouterr().err
    assert run_row(counted, 1, place) == "done"
    assert cli.main(["reproduce", "run", drawn.name]) == 2
    there = f"{drawn.name}: is drawn from {row.name}, which is there already\n"
    assert f"cannot be run here: {there}" in capsys.readouterr().err
    with pytest.raises(SettingsError, match="none of these 2 rows"):
        batch.runnable([drawn, dataclasses.replace(drawn, not_run="not public")], [], place.results)
    assert capsys.readouterr().err == f"left out: {there}left out: {drawn.name}: not public\n"
    assert batch.runnable([counted, drawn], [], place.results) == [counted]
    assert capsys.readouterr().err == f"left out: {there}"
