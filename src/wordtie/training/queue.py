"""Run many trainings: several side by side, each its own process, one live table of all.

A job is a command that trains in a folder and goes on from what it finds there. The queue starts jobs as places become
free, reads their `metrics.jsonl`, and ends when all have. When the time is over it sends SIGTERM, at which a run saves
where it is and leaves, without measuring what is not finished; Ctrl-C and SIGTERM are passed on in the same way.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal, TypeAlias

from wordtie.training.queue_table import Progress, show

State: TypeAlias = Literal["waiting", "running", "stopped", "ended", "failed"]
SMALLEST_TURN = 10.0
"""Seconds below which no further job is started."""


@dataclass
class Job:
    """One training."""

    name: str
    command: Sequence[str]
    sessions: Sequence[tuple[Path, int]]
    """The run folders that the training makes, one after the other, and at most how many epochs each: for the table."""
    state: State = "waiting"
    message: str = ""
    """The last line of a job that failed."""
    asked: bool = False
    """To save and leave."""
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    log: IO[bytes] | None = field(default=None, repr=False)

    @property
    def log_path(self) -> Path:
        """What the job printed, beside its first folder."""
        folder, _ = self.sessions[0]
        return folder.with_name(f"{folder.name}.log")

    @property
    def progress(self) -> Progress:
        """Where it is, in the last session that has been begun."""
        begun = [session for session in self.sessions if session[0].exists()]
        return Progress.of(self.name, self.state, *(begun[-1] if begun else self.sessions[0]), self.message)

    def start(self, threads: int) -> None:
        """Start the process, with `threads` threads."""
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        self.log = self.log_path.open("ab")
        count = str(threads)
        environment = {**os.environ, "OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count, "NUMBA_NUM_THREADS": count}
        self.process = subprocess.Popen(
            self.command,
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
        self.log.close()
        if code == 0:
            self.state = "ended"
        elif any(code in (128 + number, -number) for number in (signal.SIGTERM, signal.SIGINT)):
            self.state = "stopped"
        else:
            self.state = "failed"
            lines = self.log_path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            self.message = lines[-1] if lines else f"exit code {code}"

    def stop(self) -> None:
        """Ask the process, once, to save and leave: asked twice, it would leave at once."""
        if self.process is not None and self.process.poll() is None and not self.asked:
            self.asked = True
            self.process.terminate()


def run_jobs(jobs: Sequence[Job], side_by_side: int, threads: int, max_seconds: float) -> None:
    """Run all jobs, so many at a time, for so long at most; each job's `state` says what came of it."""
    deadline = time.monotonic() + max_seconds
    with show() as table, _passed_on(jobs) as interrupted:
        while True:
            left = deadline - time.monotonic()
            running = [job for job in jobs if job.state == "running"]
            for job in running:
                if left <= 0:
                    job.stop()
                job.look()
            waiting = [job for job in jobs if job.state == "waiting"]
            free = side_by_side - sum(job.state == "running" for job in jobs)
            if not interrupted and left > min(SMALLEST_TURN, max_seconds / 2):
                for job in waiting[:free]:
                    job.start(threads)
            table([job.progress for job in jobs], left)
            if not any(job.state == "running" for job in jobs):
                break
            time.sleep(0.5)
    if signal.SIGTERM in interrupted:
        raise SystemExit(128 + signal.SIGTERM)
    if interrupted:
        raise KeyboardInterrupt


@contextlib.contextmanager
def _passed_on(jobs: Sequence[Job]) -> Iterator[list[int]]:
    """Pass Ctrl-C and SIGTERM on to the jobs; gives the signals that came."""
    heard: list[int] = []

    def hear(number: int, frame: object) -> None:
        heard.append(number)
        for job in jobs:
            job.stop()

    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for job in jobs:
            job.stop()
