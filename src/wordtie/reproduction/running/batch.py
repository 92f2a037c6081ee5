"""Run many rows at once, each in its own process, from a queue."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from wordtie.errors import SettingsError, WordtieError
from wordtie.jobs.queue import Job, run_jobs
from wordtie.reproduction.ledger.ledger import read_sound
from wordtie.reproduction.ledger.record import Entry
from wordtie.reproduction.ledger.status import states, why_not
from wordtie.reproduction.papers.row import RUN, Row
from wordtie.reproduction.running.run_row import Place
from wordtie.runs.layout import SETTINGS
from wordtie.runs.run_progress import RunProgress

START = "import sys; from wordtie.cli import main; sys.exit(main())"


class QueueError(WordtieError):
    """Some of the runs failed; the results of the others are kept."""

    exit_code = 7


def runnable(rows: Sequence[Row], named_in_full: Sequence[str], results: Path) -> list[Row]:
    """Return the rows of a group that can be run on this machine; print to stderr which are left out.

    Raises `SettingsError` if none can. A row named in full is kept even if it needs a GPU and there is none.
    """
    import torch

    here, reasons = [], []
    entries = read_sound(results)[0] if any(row.kind == "drawn" for row in rows) else []
    for row in rows:
        impossible = row.not_run or row.kind not in RUN
        too_large = row.needs == "gpu" and not torch.cuda.is_available() and row.name not in named_in_full
        if impossible or too_large:
            reasons.append(f"{row.name}: {_why_left_out(row, entries)}")
        else:
            here.append(row)
    if not here and len(reasons) == 1:
        raise SettingsError(f"cannot be run here: {reasons[0]}")
    for reason in reasons:
        print(f"left out: {reason}", file=sys.stderr)
    if not here:
        raise SettingsError(f"none of these {len(reasons)} rows can be run here")
    return here


def _why_left_out(row: Row, entries: Sequence[Entry]) -> str:
    """Return why a row cannot be run or, for a drawn row, that the results it shows already exist."""
    if row.kind != "drawn" or row.not_run:
        return why_not(row)
    (state,) = states(entries, rows=[row])
    there = "is there already" if len(row.drawn_from) == 1 else "are there already"
    return state.why if state.status == "not run" else f"is drawn from {', '.join(row.drawn_from)}, which {there}"


def run_many(rows: Sequence[Row], seed: int, place: Place, side_by_side: int) -> None:
    """Run the rows in a queue. Raises `QueueError` if some failed."""
    jobs = [job_of(row, seed, place) for row in rows]
    run_jobs(jobs, side_by_side, place.threads, place.max_seconds)
    failed = [job for job in jobs if job.state == "failed"]
    for job in jobs:
        if job.state == "running elsewhere":
            print(f"left out: {job.name}: {job.state}", file=sys.stderr)
    for job in failed:
        print(f"{job.name}: {job.message} (see {job.log_path})", file=sys.stderr)
    if failed:
        raise QueueError(f"{len(failed)} of {len(jobs)} runs failed; the others stand")


def job_of(row: Row, seed: int, place: Place) -> Job:
    """Return a row as a job of the queue. A row that stopped prints `NAME: stopped`."""
    folders = budgets(row, seed, place)

    def is_stopped(printed: Sequence[str]) -> bool:
        return f"{row.name}: stopped" in printed

    return Job(row.name, partial(command, row, seed, place), list(folders), partial(progress, folders), is_stopped)


def budgets(row: Row, seed: int, place: Place) -> dict[Path, tuple[int, int | None]]:
    """Map each stage's run folder to its maximum epochs and its tokens, if given; 0 epochs if nothing is trained."""
    if row.kind != "train":
        return {place.folder(row, seed): (0, None)}
    trainings = [row.settings(seed, each).training for each in row.stages]
    return {
        place.folder(row, seed, stage): (training.epochs, training.tokens)
        for stage, training in enumerate(trainings, start=1)
    }


def progress(budget: Mapping[Path, tuple[int, int | None]], running: bool) -> RunProgress:
    """Return the progress of the stage that started last; this is the first stage if the row is trained again."""
    folders = list(budget)
    last = max(folders, key=_begun)
    to_come = sum(budget[folder][0] for folder in folders[folders.index(last) + 1 :])
    epochs, tokens = budget[last]
    return RunProgress.from_folder(last, epochs, running, to_come, tokens)


def _begun(folder: Path) -> float:
    """Return when the training in a run folder started, in seconds since the epoch; 0 if it has not."""
    try:
        return (folder / SETTINGS).stat().st_mtime
    except OSError:
        return 0.0


def command(row: Row, seed: int, place: Place, seconds: float = math.inf) -> list[str]:
    """Return the command line of a process that runs one row for at most `seconds`."""
    options = ["--seed", seed, "--runs", place.runs, "--results", place.results, "--threads", place.threads, "--one"]
    options += ["--again"] if place.again else []
    options += [] if math.isinf(seconds) else ["--max-time", f"{math.ceil(seconds)}s"]
    return [sys.executable, "-c", START, "reproduce", "run", row.name, *map(str, options)]
