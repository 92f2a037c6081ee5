"""Many rows at once: what is listed, what is left out, what a row's process is told."""

from __future__ import annotations

from pathlib import Path

from tests.commands import Capture, output
from wordtie.commands.reproduce import _parser
from wordtie.papers.registry import ROWS
from wordtie.papers.row import Row
from wordtie.report import many
from wordtie.report.run_row import Place
from wordtie.training.lock import hold


def begun(row: Row, place: Place, metrics: str) -> Path:
    """A run folder of the row, with this `metrics.jsonl`."""
    folder = place.folder(row, 1)
    folder.mkdir(parents=True)
    (folder / "settings.yaml").touch()
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
