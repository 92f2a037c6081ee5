"""The live table of a queue: epoch, validation perplexity, time left of every run, from their `metrics.jsonl`.

On a terminal it stays in its place; elsewhere (a log, a pipe) a run has one line whenever something new is known.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from wordtie.errors import RunFolderError
from wordtie.evaluation.shown import shown

Table: TypeAlias = Callable[[Sequence["Progress"], float], None]
"""Shows where all runs are, and the seconds that the queue has left (inf: no limit)."""


@dataclass(frozen=True)
class Progress:
    """Where a run is."""

    name: str
    state: str
    epoch: int = 0
    epochs: int = 0
    valid_perplexity: float | None = None
    best_perplexity: float | None = None
    seconds_left: float | None = None
    """Until the last epoch, should it come to that; early stopping may end the run sooner."""
    damaged: bool = False
    """What the run folder says of it cannot be read."""

    @classmethod
    def of(cls, name: str, state: str, folder: Path, epochs: int) -> Progress:
        """Read the run folder; one without finished epochs is at epoch 0."""
        try:
            lines = finished_epochs(folder)
        except RunFolderError:
            return cls(name, state, 0, epochs, damaged=True)
        if not lines:
            return cls(name, state, 0, epochs)
        last, valid = lines[-1], [line["valid_perplexity"] for line in lines]
        left = max(0, epochs - last["epoch"]) * last["seconds"] / last["epoch"]
        return cls(name, state, last["epoch"], epochs, valid[-1], min(valid), left)

    def cells(self) -> tuple[str, ...]:
        """What the table shows."""
        epoch = "damaged" if self.damaged else f"{self.epoch}/{self.epochs}" if self.epochs else ""
        numbers = ["" if each is None else shown(each) for each in (self.valid_perplexity, self.best_perplexity)]
        left = "" if self.seconds_left is None or self.state in ("ended", "failed") else clock(self.seconds_left)
        return self.name, self.state, epoch, *numbers, left


COLUMNS = ("run", "state", "epoch", "validation", "best", "time left")
FIGURES = ("epoch", "train_perplexity", "valid_perplexity", "seconds")
"""What a line of `metrics.jsonl` has, at least."""


def finished_epochs(folder: Path) -> list[dict[str, Any]]:
    """The lines of `metrics.jsonl`; one that is being written is left out.

    Raises `RunFolderError` where another is damaged.
    """
    path = folder / "metrics.jsonl"
    try:
        whole = path.read_bytes().rpartition(b"\n")[0]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise RunFolderError(f"{path}: cannot be read ({error.strerror}): take it from a copy") from error
    lines = []
    for number, line in enumerate(whole.split(b"\n") if whole else (), start=1):
        try:
            lines.append(_figures(line))
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            mend = "take the file from a copy, or remove the line"
            raise RunFolderError(f"{path}, line {number}: damaged, not the figures of an epoch: {mend}") from error
    return lines


def _figures(line: bytes) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(line.decode("utf-8"))
    if values["epoch"] < 1 or not all(math.isfinite(values[name]) for name in FIGURES):
        raise ValueError(values)
    return values


def clock(seconds: float) -> str:
    """`1:02:03`, rounded down."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


@contextlib.contextmanager
def show() -> Iterator[Table]:
    """A table on stderr: live on a terminal, else lines."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), auto_refresh=False) as live:
        yield lambda rows, left: live.update(_rich(rows, left), refresh=True)


def _rich(rows: Sequence[Progress], left: float) -> Any:
    from rich.table import Table as RichTable

    counts = {state: sum(row.state == state for row in rows) for state in ("ended", "stopped", "failed")}
    caption = f"{counts['ended']} of {len(rows)} ended, {counts['failed']} failed"
    caption += "" if left == float("inf") else f"; {clock(max(0, left))} of this call left"
    table = RichTable(caption=caption, caption_justify="left")
    for column in COLUMNS:
        table.add_column(column, overflow="fold" if column == COLUMNS[0] else "ellipsis", no_wrap=column != COLUMNS[0])
    for row in rows:
        table.add_row(*row.cells())
    return table


def _lines() -> Table:
    """Print a run's line when its state or epoch has changed."""
    shown: dict[str, tuple[str, int]] = {}

    def update(rows: Sequence[Progress], left: float) -> None:
        for row in rows:
            if shown.get(row.name) != (row.state, row.epoch) and row.state != "waiting":
                shown[row.name] = (row.state, row.epoch)
                cells = zip(COLUMNS[2:], row.cells()[2:], strict=True)
                figures = "  ".join(f"{column} {cell}" for column, cell in cells if cell)
                print(f"{row.name}  {row.state}  {figures}", file=sys.stderr, flush=True)

    return update
