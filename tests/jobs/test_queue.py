"""The queue: so many at a time, stopped cleanly, failures told."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wordtie.errors import RunFolderError
from wordtie.jobs.queue import Job, run_jobs
from wordtie.runs.run_progress import RunProgress
from wordtie.storage.lock import hold

TRAINS = """
import json, pathlib, sys, time
folder = pathlib.Path(sys.argv[1]); folder.mkdir(parents=True, exist_ok=True)
with (folder / "metrics.jsonl").open("a") as file:
    file.write(json.dumps({"epoch": 1, "train_perplexity": 60.0, "valid_perplexity": 50.0, "seconds": 2.0}) + "\\n")
(folder / "begun").write_text(str(time.time()))
time.sleep(float(sys.argv[2]))
(folder / "ended").write_text(str(time.time()))
"""

SAVES = """
import pathlib, signal, sys, time
folder = pathlib.Path(sys.argv[1]); folder.mkdir(parents=True, exist_ok=True)
def save(*ignored):
    time.sleep(1)
    (folder / "saved").touch()
    sys.exit(143)
signal.signal(signal.SIGTERM, save)
(folder / "begun").touch()
time.sleep(30)
"""


def job(folder: Path, seconds: float = 0.2, program: str = TRAINS) -> Job:
    def command(left: float) -> list[str]:
        return [sys.executable, "-S", "-c", program, str(folder), str(seconds), str(left)]

    def progress(running: bool) -> RunProgress:
        return RunProgress.from_folder(folder, 4, running)

    return Job(folder.name, command, [folder], progress, is_stopped=lambda printed: "stopped" in printed)


def time_in(path: Path) -> float:
    return float(path.read_text())


def test_jobs_run_side_by_side_and_no_more_than_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = [job(tmp_path / name, 1.0) for name in "abc"]
    run_jobs(jobs, side_by_side=2, threads=1, max_seconds=60)
    assert [each.state for each in jobs] == ["ended"] * 3
    begun = sorted(time_in(each.folders[0] / "begun") for each in jobs)
    ended = sorted(time_in(each.folders[0] / "ended") for each in jobs)
    assert begun[1] < ended[0], "two at a time"
    assert begun[2] > ended[0], "the third had to wait"
    assert "a  ended  epoch 1/4  validation 50.00  best 50.00" in capsys.readouterr().err


def test_a_job_that_fails_says_why_and_the_others_go_on(tmp_path: Path) -> None:
    failing, fine = (
        job(tmp_path / "bad", program="print('all went well'); raise SystemExit('no text')"),
        job(tmp_path / "a"),
    )
    run_jobs([failing, fine], side_by_side=1, threads=1, max_seconds=60)
    assert (failing.state, failing.message) == ("failed", "no text")
    assert fine.state == "ended"


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (signal.SIGKILL, "killed by SIGKILL (out of memory?)"),
        (signal.SIGSEGV, "killed by SIGSEGV"),
        (signal.SIGRTMIN + 1, f"killed by signal {signal.SIGRTMIN + 1}"),
    ],
)
def test_a_job_that_is_killed_says_by_what(number: int, says: str, tmp_path: Path) -> None:
    killed = job(tmp_path / "a", program=f"import os; print('epoch 7', flush=True); os.kill(os.getpid(), {number})")
    run_jobs([killed], side_by_side=1, threads=1, max_seconds=60)
    assert (killed.state, killed.message) == ("failed", says)


def test_what_earlier_calls_said_is_not_why_it_failed(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("epoch 7\n")
    silent = job(tmp_path / "a", program="raise SystemExit(3)")
    run_jobs([silent], side_by_side=1, threads=1, max_seconds=60)
    assert (silent.state, silent.message) == ("failed", "exit code 3")
    wordy = job(tmp_path / "a", program="raise SystemExit('wordtie: error: no text')")
    run_jobs([wordy], side_by_side=1, threads=1, max_seconds=60)
    assert wordy.message == "no text"
    assert (tmp_path / "a.log").read_text() == "epoch 7\nwordtie: error: no text\n"


@pytest.mark.parametrize("held", ["a.log", "a/.lock"])
def test_what_runs_elsewhere_is_left_out_and_the_others_run(held: str, tmp_path: Path) -> None:
    elsewhere, others = job(tmp_path / "a"), [job(tmp_path / "b"), job(tmp_path / "c")]
    (tmp_path / "a").mkdir()
    with (tmp_path / held).open("w") as file:
        assert hold(file)
        run_jobs([elsewhere, *others], side_by_side=1, threads=1, max_seconds=60)
    assert elsewhere.state == "running elsewhere"
    assert not (tmp_path / "a" / "begun").exists()
    assert [each.state for each in others] == ["ended"] * 2


def test_a_process_that_was_quicker_is_no_failure(tmp_path: Path) -> None:
    """Both had begun: the other has the folder by the time that this one asks for it."""
    refused = job(tmp_path / "a", program=f"raise SystemExit({RunFolderError.exit_code})")
    refused.start(threads=1, seconds=60)
    (tmp_path / "a").mkdir()
    with (tmp_path / "a" / ".lock").open("w") as file:
        assert hold(file)
        while refused.state == "running":
            refused.look()
    assert refused.state == "running elsewhere"


def test_a_job_keeps_hold_of_its_log_when_its_queue_is_killed(tmp_path: Path) -> None:
    first, second = job(tmp_path / "a", 30), job(tmp_path / "a")
    first.start(threads=1, seconds=60)
    assert first.log is not None
    assert first.process is not None
    first.log.close()
    second.start(threads=1, seconds=60)
    first.process.kill()
    first.process.wait()
    assert second.state == "running elsewhere"


def test_out_of_time_jobs_are_stopped_and_none_is_started_too_late(tmp_path: Path) -> None:
    first, late = job(tmp_path / "first", 30), job(tmp_path / "late")
    begun = time.monotonic()
    run_jobs([first, late], side_by_side=1, threads=1, max_seconds=2.0)
    assert time.monotonic() - begun < 15
    assert (first.state, late.state) == ("stopped", "waiting")
    assert not (tmp_path / "first" / "ended").exists()


@pytest.fixture
def obeyed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Signals are as a shell in the foreground sets them, however the tests were begun."""
    usual: dict[int, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    before: dict[int, Any] = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def send_once_begun(number: int, folder: Path) -> None:
    """Send this process a signal once the job in the folder has begun."""

    def send() -> None:
        while not (folder / "begun").exists():
            time.sleep(0.05)
        os.kill(os.getpid(), number)

    threading.Thread(target=send).start()


@pytest.mark.usefixtures("obeyed")
@pytest.mark.parametrize(
    ("number", "raised"),
    [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit), (signal.SIGHUP, SystemExit)],
)
def test_a_signal_is_passed_on(number: int, raised: type[BaseException], tmp_path: Path) -> None:
    jobs = [job(tmp_path / name, 30) for name in "ab"]
    send_once_begun(number, tmp_path / "a")
    with pytest.raises(raised):
        run_jobs(jobs, side_by_side=1, threads=1, max_seconds=60)
    assert jobs[0].state == "stopped"
    assert not (tmp_path / "a" / "ended").exists()
    assert jobs[1].state == "waiting"


@pytest.mark.usefixtures("obeyed")
def test_a_signal_that_is_ignored_stays_so(tmp_path: Path) -> None:
    """As `nohup` has it."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    going_on = job(tmp_path / "a", 1)
    send_once_begun(signal.SIGHUP, tmp_path / "a")
    run_jobs([going_on], side_by_side=1, threads=1, max_seconds=60)
    assert going_on.state == "ended"


def test_a_command_is_made_for_the_time_left(tmp_path: Path) -> None:
    program = "import pathlib, sys; pathlib.Path(sys.argv[1] + '.told').write_text(sys.argv[3])"
    for name, seconds in (("limited", 60), ("not", float("inf"))):
        run_jobs([job(tmp_path / name, program=program)], side_by_side=1, threads=1, max_seconds=seconds)
    assert 50 < float((tmp_path / "limited.told").read_text()) <= 60
    assert (tmp_path / "not.told").read_text() == "inf"


def test_the_job_tells_stopped_from_ended(tmp_path: Path) -> None:
    stopping, ending = (job(tmp_path / word, program=f"print('{word}')") for word in ("stopped", "ended"))
    run_jobs([stopping, ending], side_by_side=1, threads=1, max_seconds=60)
    assert (stopping.state, ending.state) == ("stopped", "ended")


LOST = """
import fcntl, signal, sys, termios
from pathlib import Path
from wordtie.jobs.queue import Job, run_jobs
from wordtie.runs.run_progress import RunProgress
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
folder = Path(sys.argv[1])
command = [sys.executable, "-S", "-c", sys.argv[2], str(folder), "30"]
run_jobs([Job("a", lambda seconds: command, [folder], lambda running: RunProgress())], 1, 1, 60)
"""


def test_a_lost_terminal_stops_the_queue_cleanly(tmp_path: Path) -> None:
    """What hangs up is the terminal itself, on which nothing can be written any more; the queue waits for its jobs."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", LOST, str(tmp_path / "a"), SAVES]
    queue = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    while not (tmp_path / "a" / "begun").exists():
        assert queue.poll() is None
        time.sleep(0.05)
    os.close(ours)
    assert queue.wait() == 128 + signal.SIGHUP
    assert (tmp_path / "a" / "saved").exists()
