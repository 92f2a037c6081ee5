"""Run many commands: several side by side, each in a process of its own, with one live table of all.

A job is a command that trains in a folder and continues from what it finds there. The queue starts jobs as places
become free and ends when all have ended. When its time is over, it sends SIGTERM, at which a training saves its state
and leaves. It passes Ctrl-C, SIGTERM and SIGHUP (a lost connection) on in the same way. It also tells each command how
long it has, so that the job ends in time if the queue is killed. A job that another process runs is left to it.

A job says what the queue cannot know: its command line, whether an exit without an error means finished or stopped,
and its progress.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal, TypeAlias

from wordtie.errors import RunFolderError
from wordtie.jobs.table import JobProgress, show
from wordtie.runs.run_progress import RunProgress
from wordtie.storage.lock import hold, is_locked
from wordtie.storage.opening import own_file
from wordtie.training.stop_signals import STOPPING

State: TypeAlias = Literal["waiting", "running", "running elsewhere", "stopped", "ended", "failed"]
SMALLEST_TURN = 10.0
"""Seconds below which no further job is started."""


@dataclass
class Job:
    """A command, the folders it trains in, and how to read its progress."""

    name: str
    command: Callable[[float], Sequence[str]]
    """Returns the command line of a process that has this many seconds (inf: no limit)."""
    folders: Sequence[Path]
    """The run folders that the command trains in, one after the other. Its output goes to a log beside the first."""
    progress: Callable[[bool], RunProgress]
    """Reads the progress; the argument is whether the job is running."""
    is_stopped: Callable[[Sequence[str]], bool] = lambda printed: False
    """Whether a process that exited with 0 has more to do, by the lines it printed."""
    state: State = "waiting"
    message: str = ""
    """Why the job failed."""
    asked: bool = False
    """Whether the process has been asked to save and leave."""
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    log: IO[bytes] | None = field(default=None, repr=False)
    log_begins: int = 0
    """Byte of the log at which the lines of this process begin; earlier processes may have written before it."""

    @property
    def log_path(self) -> Path:
        """Path of the job's output, beside its first folder."""
        folder = self.folders[0]
        return folder.with_name(f"{folder.name}.log")

    @property
    def row(self) -> JobProgress:
        """The job's row in the table."""
        return JobProgress(self.name, self.state, self.progress(self.state == "running"), self.message)

    @property
    def is_held(self) -> bool:
        """Whether a process trains in one of the folders."""
        return any(is_locked(folder) for folder in self.folders)

    def start(self, threads: int, seconds: float) -> None:
        """Start the process, for `seconds` at most, unless another queue or process runs the same."""
        try:
            self.log_path.parent.mkdir(parents=True, exist_ok=True)
            self.log = open(self.log_path, "a+b", opener=own_file)  # noqa: SIM115
        except OSError as error:
            self.state, self.message = "failed", f"{self.log_path}: cannot be written ({error.strerror})"
            return
        if not hold(self.log) or self.is_held:  # the process keeps hold of the log, should the queue be killed
            self.log.close()
            self.state = "running elsewhere"
            return
        self.log_begins = self.log.tell()
        count = str(threads)
        environment = {**os.environ, "OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count, "NUMBA_NUM_THREADS": count}
        environment["PYTHONUNBUFFERED"] = "1"  # the log's last line is the last one printed, on stdout or stderr
        self.process = subprocess.Popen(
            self.command(seconds),
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            env=environment,
            start_new_session=True,  # so that Ctrl-C reaches the queue alone, which passes it on once
        )
        self.state = "running"

    def look(self) -> None:
        """Note whether the process has ended, and how."""
        assert self.process is not None
        assert self.log is not None
        code = self.process.poll()
        if code is None:
            return
        with self.log as log:
            log.seek(self.log_begins)
            lines = log.read().decode("utf-8", errors="replace").strip().splitlines()
        if code == 0:
            self.state = "stopped" if self.is_stopped(lines) else "ended"
        elif any(code in (128 + number, -number) for number in (signal.SIGTERM, signal.SIGINT)):
            self.state = "stopped"
        elif code == RunFolderError.exit_code and self.is_held:  # by a process that was quicker
            self.state = "running elsewhere"
        else:
            self.state = "failed"
            self.message = _reason(code, lines)

    def stop(self) -> None:
        """Ask the process, once, to save and leave: asked twice, it would leave at once."""
        if self.process is not None and self.process.poll() is None and not self.asked:
            self.asked = True
            self.process.terminate()


def _reason(code: int, lines: Sequence[str]) -> str:
    """Return why a process failed: its last line, unless a signal ended it before it could print a reason."""
    if code < 0:
        name = {each.value: each.name for each in signal.Signals}.get(-code, f"signal {-code}")
        return f"killed by {name}{' (out of memory?)' if name == 'SIGKILL' else ''}"
    return lines[-1].removeprefix("wordtie: error: ") if lines else f"exit code {code}"


def run_jobs(jobs: Sequence[Job], side_by_side: int, threads: int, max_seconds: float) -> None:
    """Run all jobs, `side_by_side` at a time, for `max_seconds` at most; each job's `state` is its outcome."""
    deadline = time.monotonic() + max_seconds
    terminals = [each for each in (1, 2) if os.isatty(each)]
    with show() as table, _passed_on(jobs) as interrupted:
        while True:
            left = deadline - time.monotonic()
            running = [job for job in jobs if job.state == "running"]
            for job in running:
                if left <= 0 or interrupted:
                    job.stop()
                job.look()
            if not interrupted and left > min(SMALLEST_TURN, max_seconds / 2):
                for job in jobs:
                    if job.state == "waiting" and sum(job.state == "running" for job in jobs) < side_by_side:
                        job.start(threads, left)
            _silence_lost(terminals)
            table([job.row for job in jobs], left)
            if not any(job.state == "running" for job in jobs):
                break
            time.sleep(0.5)
    if others := [number for number in interrupted if number != signal.SIGINT]:
        raise SystemExit(128 + others[0])
    if interrupted:
        raise KeyboardInterrupt


def _silence_lost(terminals: list[int]) -> None:
    """Discard output to a terminal that is no longer there: the jobs still have to be waited for."""
    for lost in [each for each in terminals if not os.isatty(each)]:
        terminals.remove(lost)
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), lost)


@contextlib.contextmanager
def _passed_on(jobs: Sequence[Job]) -> Iterator[list[int]]:
    """Pass the signals that stop the queue on to the jobs; yield the list of those received."""
    heard: list[int] = []

    def hear(number: int, frame: object) -> None:
        heard.append(number)
        for job in jobs:
            job.stop()

    obeyed = [number for number in STOPPING if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    before = {number: signal.signal(number, hear) for number in obeyed}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for job in jobs:
            job.stop()
