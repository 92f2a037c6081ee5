"""The live table of a queue: epoch, validation perplexity and time left of every job.

On a terminal the table stays in place and fits the window: running jobs first, then failed ones with the reason, and
the others counted. Elsewhere (a log, a pipe), a job prints one line when its state or epoch changes.
"""

from __future__ import annotations

import contextlib
import math
import posixpath
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from wordtie.console import clock, tell
from wordtie.evaluation.format_perplexity import format_perplexity
from wordtie.runs.run_progress import RunProgress, hundredths

Table: TypeAlias = Callable[[Sequence["JobProgress"], float], None]
"""Function that shows the progress of all jobs, and the seconds that the queue has left (inf: no limit)."""


@dataclass(frozen=True)
class JobProgress:
    """A row of the table."""

    name: str
    state: str
    run: RunProgress
    message: str = ""
    """Why the job failed."""

    def cells(self) -> tuple[str, ...]:
        """Return what the table shows, in the order of `COLUMNS`."""
        run = self.run
        epoch = f"{hundredths(run.epoch + run.share)}/{run.epochs}" if run.epochs else ""
        if run.of_tokens:
            epoch = f"{math.floor(100 * run.share)} %"
        if run.damaged:
            epoch = "damaged"
        perplexities = (run.valid_perplexity, run.best_perplexity)
        numbers = ["" if each is None else format_perplexity(each) for each in perplexities]
        left = "" if run.seconds_left is None or self.state in ("ended", "failed") else clock(run.seconds_left)
        return self.name, self.state, epoch, *numbers, left


COLUMNS = ("run", "state", "epoch", "validation", "best", "time left")


@contextlib.contextmanager
def show() -> Iterator[Table]:
    """Show a table on stderr: live on a terminal, else lines."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)
    with Live(console=console, auto_refresh=False) as live:

        def update(rows: Sequence[JobProgress], left: float) -> None:
            lines = screen(rows, left, *console.size)
            live.update(Text("\n".join(lines), no_wrap=True, overflow="crop"), refresh=True)

        yield update


def screen(rows: Sequence[JobProgress], left: float, width: int, height: int) -> list[str]:
    """Return the lines that fit a terminal of this size, with the number of runs and the time left at the end.

    Names are shown without the folder that all of them begin with, which is the heading above them.
    """
    summary = textwrap.wrap(_summary(rows, left), width)
    running, failed = ([row for row in rows if row.state == state] for state in ("running", "failed"))
    if not running and not failed:
        return summary
    group = posixpath.commonpath([row.name.rpartition("/")[0] for row in rows])
    group += "/" if group else ""
    room = height - len(summary) - 1  # for the line above the names
    why = [f"failed: {row.name.removeprefix(group)}: {row.message}"[:width] for row in failed]
    why = _first(why, max(room // 3, room - len(running)), "failed")
    table: list[Sequence[str]] = [(group or COLUMNS[0], *COLUMNS[2:])]
    table += [(row.name.removeprefix(group), *row.cells()[2:]) for row in running]
    header, *lines = _aligned(table, width)
    return [header, *_first(lines, room - len(why), "running"), *why, *summary]


def _summary(rows: Sequence[JobProgress], left: float) -> str:
    """Return the number of runs in each state, and the time left."""
    counts = Counter(row.state for row in rows)
    order = dict.fromkeys(("running", "waiting", "ended", *counts))
    states = ", ".join(f"{counts[state]} {state}" for state in order if counts[state])
    return states if left == math.inf else f"{states}; {clock(max(0, left))} of this call left"


def _first(lines: list[str], most: int, what: str) -> list[str]:
    """Return at most `most` lines, but at least one; if some are left out, the last one gives their number."""
    most = max(1, most)
    return lines if len(lines) <= most else [*lines[: most - 1], f"… and {len(lines) - most + 1} more {what}"]


def _aligned(table: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the cells as lines of `width` letters; of a name that is too long the end is shown, where names differ."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    widths[0] = max(1, min(widths[0], width - sum(widths[1:]) - 2 * len(widths[1:])))
    lines = []
    for name, *cells in table:
        fitting = name if len(name) <= widths[0] else f"…{name[len(name) - widths[0] + 1 :]}"
        numbers = (f"{cell:>{size}}" for cell, size in zip(cells, widths[1:], strict=True))
        lines.append("  ".join([f"{fitting:{widths[0]}}", *numbers])[:width])
    return lines


def _lines() -> Table:
    """Print a run's line when its state or epoch has changed."""
    told: dict[str, tuple[str, int]] = {}

    def update(rows: Sequence[JobProgress], left: float) -> None:
        for row in rows:
            if told.get(row.name) != (row.state, row.run.epoch) and row.state != "waiting":
                told[row.name] = (row.state, row.run.epoch)
                cells = zip(COLUMNS[2:], row.cells()[2:], strict=True)
                figures = "  ".join(f"{column} {cell}" for column, cell in cells if cell)
                parts = (row.name, row.state, figures, row.message)
                tell("  ".join(part for part in parts if part))

    return update
