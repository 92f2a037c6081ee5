"""Files that wordtie writes in place: never through a symbolic link, never into a pipe."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.commands import SMALL, Capture, small_text
from wordtie import cli
from wordtie.config import DataSettings
from wordtie.data.prepare import prepare
from wordtie.errors import SaveError
from wordtie.jobs.queue import Job, run_jobs
from wordtie.runs import run_folder
from wordtie.runs.live_progress import LiveProgress
from wordtie.runs.metrics import Metrics
from wordtie.runs.provenance import begin_invocation
from wordtie.runs.run_progress import RunProgress
from wordtie.storage.lock import is_locked, open_lock

pytestmark = pytest.mark.usefixtures("own_folder")

WORK = "the work of a year\n"


@pytest.fixture
def victim() -> Path:
    """A file outside the run folder, and an empty run folder."""
    Path("run").mkdir()
    path = Path("victim.txt")
    path.write_text(WORK)
    return path


@pytest.mark.parametrize("target", ["../victim.txt", "../missing.txt"])
@pytest.mark.parametrize("command", [["train", *SMALL], ["word2vec", "--word2vec.vector_size", "4"]])
def test_a_lock_that_is_a_link_is_refused(
    victim: Path, tmp_path: Path, command: list[str], target: str, capsys: Capture
) -> None:
    small_text(tmp_path / "novel")
    Path("run", ".lock").symlink_to(target)
    assert cli.main([*command, "novel", "--out", "run"]) == SaveError.exit_code
    err = capsys.readouterr().err.splitlines()[-1]
    assert err.startswith("wordtie: error: run/.lock: cannot be written (a symbolic link; remove it)")
    assert victim.read_text() == WORK
    assert not Path("missing.txt").exists()
    assert not is_locked(Path("run"))


def test_a_lock_file_keeps_what_is_in_it(victim: Path) -> None:
    """A hard link is a regular file like any other."""
    os.link(victim, Path("run", ".lock"))
    with run_folder.locked(Path("run")):
        assert is_locked(Path("run"))
    assert victim.read_text() == WORK


def test_a_lock_that_is_a_pipe_is_refused() -> None:
    os.mkfifo("pipe")
    with pytest.raises(OSError, match="not a regular file"), open_lock(Path("pipe")):
        pass


def test_the_lock_of_the_cache_is_not_followed(victim: Path, tmp_path: Path) -> None:
    settings = DataSettings(str(small_text(tmp_path / "novel")))
    prepare(settings)
    (lock,) = (tmp_path / "cache" / "wordtie" / "prepared").glob(".*.lock")
    lock.unlink()
    lock.symlink_to(victim.resolve())
    assert len(prepare(settings).train) > 0, "a cache that cannot be locked is read without"
    assert victim.read_text() == WORK


def write_metrics() -> None:
    metrics = Metrics(Path("run"))
    metrics.open(0)
    metrics.write(epoch=1)


def write_sessions() -> None:
    begin_invocation(Path("run"), True, torch.device("cpu"), {"epoch": 1, "window": 0})


@pytest.mark.parametrize(("name", "write"), [("metrics.jsonl", write_metrics), ("sessions.jsonl", write_sessions)])
def test_records_are_not_written_through_a_link(victim: Path, name: str, write: Callable[[], None]) -> None:
    Path("run", name).symlink_to(victim.resolve())
    with pytest.raises(SaveError, match="a symbolic link; remove it"):
        write()
    assert victim.read_text() == WORK
    Path("run", name).unlink()
    write()
    assert json.loads(Path("run", name).read_text())["epoch"] == 1


def test_the_pace_is_not_written_through_a_link(victim: Path) -> None:
    Path("run", "live_progress").symlink_to(victim.resolve())
    LiveProgress(Path("run"))(0.5, 3.0)
    assert victim.read_text() == WORK


def test_the_log_of_a_job_is_not_written_through_a_link(victim: Path) -> None:
    Path("run.log").symlink_to(victim)
    job = Job("run", lambda seconds: ["echo", "hello"], [Path("run")], lambda running: RunProgress())
    run_jobs([job], side_by_side=1, threads=1, max_seconds=60)
    assert (job.state, job.message) == ("failed", "run.log: cannot be written (a symbolic link; remove it)")
    assert victim.read_text() == WORK


def test_events_behind_a_link_stay() -> None:
    Path("elsewhere").mkdir()
    events = Path("elsewhere", "events.out.tfevents.1")
    events.write_text(WORK)
    Path("run").mkdir()
    Path("run", "tensorboard").symlink_to("../elsewhere")
    run_folder.clear(Path("run"))
    assert events.read_text() == WORK
