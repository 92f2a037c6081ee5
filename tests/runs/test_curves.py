"""The curves of a run: of a real training, of one that is going on, of folders of earlier versions, of damaged ones."""

from __future__ import annotations

import fcntl
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny_run import TINY, write_text
from wordtie import cli
from wordtie.errors import RunFolderError
from wordtie.runs.curves import read_curves, read_settings
from wordtie.runs.layout import LIVE_PROGRESS, METRICS, MODEL, RESULT, SETTINGS
from wordtie.runs.live_progress import LiveProgress
from wordtie.runs.run_folder import locked
from wordtie.storage.lock import LOCK, hold
from wordtie.training import trainer

EARLIER = Path(__file__).parents[1] / "fixtures" / "8696be2"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three epochs, with lines between its validations."""
    folder = tmp_path_factory.mktemp("curves")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "WINDOWS_BETWEEN_LINES", 20)
        assert cli.main(["train", str(write_text(folder / "text")), "--out", str(folder / "run"), *TINY]) == 0
    return folder / "run"


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


def lines(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]


def test_the_points_are_the_lines_of_the_file(trained: Path) -> None:
    found = read_curves(trained)
    assert (found["state"], found["why"], found["live"]) == ("finished", "", None)
    for point, line in zip(found["points"], lines(trained), strict=True):
        assert (point["epoch"], point["tokens"], point["rate"]) == (line["epoch"], line["tokens"], line["lr"])
        assert point["valid_perplexity"] == line.get("valid_perplexity")
        assert point["loss"] == pytest.approx(math.log(line["recent_perplexity"]))
    validated = [point for point in found["points"] if point["valid_perplexity"] is not None]
    assert [point["epoch"] for point in validated] == [1, 2, 3]
    assert len(found["points"]) > 3


def test_losses_between_lines_make_up_that_of_the_epoch(trained: Path) -> None:
    """Each is of its own tokens alone, also at a validation; summed they are the nats of the epoch."""
    points = [point for point in read_curves(trained)["points"] if point["epoch"] == 2]
    before = max(point["tokens"] or 0 for point in read_curves(trained)["points"] if point["epoch"] == 1)
    nats, start = 0.0, before
    for point in points:
        assert point["tokens"] is not None
        assert point["loss"] is not None
        nats += point["loss"] * (point["tokens"] - start)
        start = point["tokens"]
    assert points[-1]["epoch_loss"] == pytest.approx(nats / (start - before))


def test_words_per_second_leave_out_validation(run: Path) -> None:
    rows = [
        {"epoch": 1, "tokens": 100, "recent_perplexity": 9.0, "window": 1, "seconds": 10.0, "measuring_seconds": 0.0},
        {"epoch": 1, "tokens": 300, "train_perplexity": 8.0, "valid_perplexity": 7.0, "seconds": 50.0,
         "measuring_seconds": 30.0},
        {"epoch": 2, "tokens": 400, "recent_perplexity": 6.0, "window": 3, "seconds": 54.0, "measuring_seconds": 30.0},
    ]  # fmt: skip
    (run / METRICS).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert [point["words_per_second"] for point in read_curves(run)["points"]] == [10.0, 20.0, 25.0]


def test_a_run_of_an_earlier_version() -> None:
    """Its lines are those of epochs, without tokens; it says nothing of speed."""
    found = read_curves(EARLIER / "finished")
    assert [point["epoch"] for point in found["points"]] == [1, 2, 3]
    assert found["points"][0]["epoch_loss"] == pytest.approx(math.log(27.843920145692184))
    for name in ("tokens", "loss", "words_per_second"):
        assert {point[name] for point in found["points"]} == {None}


def test_a_run_in_training(run: Path) -> None:
    (run / RESULT).unlink()
    rows = lines(run)
    (run / METRICS).write_text("".join(f"{json.dumps(row)}\n" for row in rows if row["epoch"] == 1) + '{"epo')
    assert read_curves(run)["state"] == "stopped"
    with locked(run):
        found = read_curves(run)
        assert (found["state"], found["live"]) == ("running", None)
        assert {point["epoch"] for point in found["points"]} == {1}, "the line that is being written is left out"
        LiveProgress(run)(1.5, 30.0)
        assert read_curves(run)["live"] == {"epochs": 1.5, "seconds": 30.0, "share": 0.5, "seconds_left": 30.0}
        assert json.loads(json.dumps(read_curves(run))) == read_curves(run)


def test_two_that_look_at_once_see_no_training(run: Path) -> None:
    with (run / LOCK).open("rb") as file:
        assert hold(file, lock=fcntl.LOCK_SH)
        assert read_curves(run)["state"] == "finished"


def test_a_budget_in_tokens(run: Path) -> None:
    """As many as the last line says, and since then at the same speed."""
    last = read_curves(run)["points"][-1]
    tokens, seconds = last["tokens"], last["seconds"]
    assert tokens
    settings = (run / SETTINGS).read_text().replace("tokens: null", f"tokens: {4 * tokens}")
    (run / SETTINGS).write_text(settings)
    for since, share in ((1.0, 0.25), (2.0, 0.5), (5.0, 1.0)):
        (run / LIVE_PROGRESS).write_text(f"3.0 {since * seconds}\n")
        with locked(run):
            live = read_curves(run)["live"]
        assert live is not None
        assert live["share"] == pytest.approx(share)
        assert live["seconds_left"] == pytest.approx(since * seconds * (1 - share) / share)


def test_damage_is_said(run: Path) -> None:
    (run / METRICS).write_text('{"epoch": 1, "seconds": 2.0, "train_perplexity": -1.0, "valid_perplexity": 2.0}\n')
    found = read_curves(run)
    assert (found["state"], found["points"]) == ("damaged", [])
    assert f"{run / METRICS}, line 1: damaged" in found["why"]


def test_a_damaged_result_is_damage(run: Path) -> None:
    (run / RESULT).write_text('{"stopped": "finished"')
    found = read_curves(run)
    assert (found["state"], len(found["points"])) == ("damaged", len(lines(run))), "the points are there all the same"
    (run / RESULT).write_text("[1]")
    assert read_curves(run)["state"] == "damaged"


def test_missing_metrics_are_damage(run: Path) -> None:
    (run / METRICS).unlink()
    found = read_curves(run)
    assert (found["state"], found["points"]) == ("damaged", [])
    assert found["why"] == f"{run / METRICS}: missing: restore it from a copy"


def test_settings_that_cannot_be_read_are_none(run: Path) -> None:
    (run / "settings.yaml").unlink()
    for config in ("[]", "[" * 100_000):
        (run / "config.json").write_text(config)
        assert read_settings(run) == {}


def test_a_folder_in_the_place_of_a_file_is_damage(run: Path) -> None:
    (run / "sessions.jsonl").unlink()
    (run / "sessions.jsonl").mkdir()
    assert read_curves(run)["state"] == "damaged"


def test_what_is_no_run_folder(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="no such run folder"):
        read_curves(tmp_path / "none")
    with pytest.raises(RunFolderError, match="not a run folder"):
        read_curves(tmp_path)


def test_a_model_without_curves_has_no_points() -> None:
    assert read_curves(EARLIER / "word2vec") == {
        "folder": str(EARLIER / "word2vec"), "state": "finished", "why": "", "points": [], "live": None,
    }  # fmt: skip


def test_reading_changes_nothing(run: Path) -> None:
    (run / MODEL).unlink()
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    read_curves(run)
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


def test_torch_is_not_loaded(trained: Path) -> None:
    code = f"import sys; from wordtie.runs.listing import list_runs; list_runs([{str(trained)!r}]); \
print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
