"""The live table of a queue: epoch, validation perplexity, time left of every run, from their `metrics.jsonl` and
`live_progress`.

On a terminal it stays in its place and fits into it: running runs first, then failed ones with why, the others counted.
Elsewhere (a log, a pipe) a run has one line whenever something new is known.
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
from pathlib import Path
from typing import TypeAlias

from wordtie.console import clock, tell
from wordtie.errors import RunFolderError
from wordtie.evaluation.format_perplexity import format_perplexity
from wordtie.runs import live_progress
from wordtie.runs.metrics import finished_epochs

Table: TypeAlias = Callable[[Sequence["JobProgress"], float], None]
"""Shows where all runs are, and the seconds that the queue has left (inf: no limit)."""


@dataclass(frozen=True)
class JobProgress:
    """Where a run is."""

    name: str
    state: str
    epoch: int = 0
    """Finished."""
    epochs: int = 0
    valid_perplexity: float | None = None
    best_perplexity: float | None = None
    seconds_left: float | None = None
    """Until the last epoch; early stopping may end the run sooner."""
    share: float = 0.0
    """Of the epoch that is being trained, what is done."""
    damaged: bool = False
    """What the run folder says of it cannot be read."""
    message: str = ""
    """Why it failed."""

    @classmethod
    def from_folder(
        cls, name: str, state: str, folder: Path, epochs: int, to_come: int = 0, message: str = ""
    ) -> JobProgress:
        """Read the run folder, whose epochs are followed by those `to_come` in the next session.

        A folder without finished epochs is at epoch 0.
        """
        try:
            lines = finished_epochs(folder)
        except RunFolderError:
            return cls(name, state, 0, epochs, damaged=True, message=message)
        valid, finished = [line["valid_perplexity"] for line in lines], lines[-1]["epoch"] if lines else 0
        begun, seconds = (live_progress.read(folder) if state == "running" else None) or (0.0, 0.0)
        share = begun - finished if finished < begun <= finished + 1 else 0.0
        of_one = lines[-1]["seconds"] / finished if lines else seconds / begun if share > ENOUGH else None
        left = None if of_one is None else (max(0, epochs - finished - share) + to_come) * of_one
        last, best = (valid[-1], min(valid)) if valid else (None, None)
        return cls(name, state, finished, epochs, last, best, left, share, message=message)

    def cells(self) -> tuple[str, ...]:
        """What the table shows."""
        done = self.epoch + self.share
        epoch = "damaged" if self.damaged else f"{hundredths(done)}/{self.epochs}" if self.epochs else ""
        numbers = [
            "" if each is None else format_perplexity(each) for each in (self.valid_perplexity, self.best_perplexity)
        ]
        left = "" if self.seconds_left is None or self.state in ("ended", "failed") else clock(self.seconds_left)
        return self.name, self.state, epoch, *numbers, left


ENOUGH = 0.02
"""Of the first epoch, to say from how long all will take: it begins with what is done once."""
COLUMNS = ("run", "state", "epoch", "validation", "best", "time left")


def hundredths(epochs: float) -> str:
    """So many epochs, the last of them begun: never more than are done."""
    return f"{math.floor(100 * epochs + 1e-6) / 100:.2f}".removesuffix(".00")


@contextlib.contextmanager
def show() -> Iterator[Table]:
    """A table on stderr: live on a terminal, else lines."""
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
    """What is shown on a terminal of this size: it fits, with how many runs there are and the time left at its end.

    Names are without what all of them begin with, which stands above them.
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
    """How many runs are in which state, and the time left."""
    counts = Counter(row.state for row in rows)
    order = dict.fromkeys(("running", "waiting", "ended", *counts))
    states = ", ".join(f"{counts[state]} {state}" for state in order if counts[state])
    return states if left == math.inf else f"{states}; {clock(max(0, left))} of this call left"


def _first(lines: list[str], most: int, what: str) -> list[str]:
    """So many lines, or one; the last one says how many more there are."""
    most = max(1, most)
    return lines if len(lines) <= most else [*lines[: most - 1], f"… and {len(lines) - most + 1} more {what}"]


def _aligned(table: Sequence[Sequence[str]], width: int) -> list[str]:
    """The cells as lines of so many letters; of a name that is too long the end is shown, where names differ."""
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
            if told.get(row.name) != (row.state, row.epoch) and row.state != "waiting":
                told[row.name] = (row.state, row.epoch)
                cells = zip(COLUMNS[2:], row.cells()[2:], strict=True)
                figures = "  ".join(f"{column} {cell}" for column, cell in cells if cell)
                parts = (row.name, row.state, figures, row.message)
                tell("  ".join(part for part in parts if part))

    return update
