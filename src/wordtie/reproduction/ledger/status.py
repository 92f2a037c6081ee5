"""The status of every row: published and our numbers, reached or not, or why it is not run."""

from __future__ import annotations

import re
import statistics
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from wordtie.console import clock
from wordtie.errors import RunFolderError
from wordtie.evaluation.format_perplexity import format_perplexity
from wordtie.reproduction.ledger.ledger import is_stale
from wordtie.reproduction.ledger.record import STAGE_SUFFIX, Entry, score_of
from wordtie.reproduction.papers.registry import ROWS
from wordtie.reproduction.papers.row import Published, Row
from wordtie.runs import live_progress
from wordtie.runs.compatibility import changed_settings, recorded_settings
from wordtie.runs.layout import SETTINGS
from wordtie.runs.metrics import finished_epochs
from wordtie.runs.provenance import invocations
from wordtie.runs.run_progress import hundredths
from wordtie.storage.lock import is_locked

Status: TypeAlias = Literal["reached", "not reached", "run", "running", "stopped", "diverged", "not run"]
"""`run`: there is no published number to compare with, or it is for another text or size. `stopped`: started, and can
be resumed. `diverged`: if resumed, it would diverge again."""
SEED_AND_STAGE = re.compile(rf"\.seed-(\d+)(?:{re.escape(STAGE_SUFFIX)}(\d+))?$")
"""End of a run folder's name: its seed and, for a later stage, which starts from the one before it, its number."""
TOLERANCE = 0.02
"""Tolerance within which a published number is reached (or if ours is better): relative or, below 1, absolute.
Correlations and distances are below 1. They are printed to two decimals, and 2 % of 0.13 is less than half of the last
one, so the tolerance is relative to the whole scale, whose length is 1. Ours are not rounded first."""


@dataclass(frozen=True)
class Mean:
    """Mean and standard deviation over seeds."""

    mean: float
    spread: float | None
    """Standard deviation; None for a single seed."""
    seeds: int
    counts: bool = False
    """Whether the values are counts, which have no decimals."""

    @classmethod
    def from_values(cls, values: Sequence[float]) -> Mean:
        """Return the mean of one or more values."""
        spread = statistics.stdev(values) if len(values) > 1 else None
        return cls(statistics.fmean(values), spread, len(values), all(isinstance(value, int) for value in values))

    def __str__(self) -> str:
        if self.counts and not self.spread:
            return f"{self.mean:.0f}"
        mean = format_perplexity(self.mean)
        return mean if self.spread is None else f"{mean} ± {format_perplexity(self.spread)}"


@dataclass(frozen=True)
class RowState:
    """A row, its results and its status."""

    row: Row
    entries: tuple[Entry, ...]
    status: Status
    why: str = ""

    def ours(self, name: str) -> Mean | None:
        """Return the mean `valid` or `test` perplexity over seeds; None without one, or for a row of other numbers."""
        if not self.row.shows_perplexities:
            return None
        values = [score_of(entry, name) for entry in self.entries]
        return Mean.from_values(values) if values else None

    def values(self) -> dict[str, Mean]:
        """Return the means of numbers other than perplexities, by name."""
        return shown_values(self.row, self.entries)

    @property
    def difference(self) -> float | None:
        """Relative difference of our test perplexity from the published one; None if they cannot be compared."""
        published, ours = self.row.published.test, self.ours("test")
        return None if published is None or ours is None or self.row.stands_in else ours.mean / published - 1

    def as_json(self) -> dict[str, Any]:
        """Return what `wordtie reproduce list --json` prints."""
        valid, test = self.ours("valid"), self.ours("test")
        published = self.row.published
        return {
            "row": self.row.name,
            "status": self.status,
            "why": self.why,
            "label": self.row.label,
            "published": published.test,
            "ours": test and test.mean,
            "parameters": self.entries[0]["parameters"] if self.entries else None,
            "published_valid": published.valid,
            "ours_valid": valid and valid.mean,
            "ours_spread": test and test.spread,
            "seeds": [entry["seed"] for entry in self.entries],
            "published_parameters": published.parameters,
            "published_values": dict(published.values),
            "ours_values": {name: value.mean for name, value in self.values().items()},
            "note": self.row.note,
        }


def states(entries: Iterable[Entry], runs: Path | None = None, rows: Iterable[Row] | None = None) -> list[RowState]:
    """Return the rows' states; with `runs`, unfinished ones are `running`, `stopped` or `diverged`. A row with a result
    keeps its status while another seed is trained, and `why` gives the state of that run.

    Entries with other settings than the row's are ignored.
    """
    of_row: dict[str, list[Entry]] = {}
    for entry in entries:
        row = ROWS.get(entry["row"])
        if row is not None and not is_stale(entry, row):
            of_row.setdefault(row.name, []).append(entry)
    return [_state(row, of_row, runs) for row in (ROWS.values() if rows is None else rows)]


def _state(row: Row, of_row: dict[str, list[Entry]], runs: Path | None) -> RowState:
    sources: Sequence[str] = row.drawn_from if row.kind == "drawn" else (row.name,)
    found = [entry for name in sources for entry in of_row.get(name, [])]
    if row.kind == "drawn" and len(sources) > 1:
        missing = [name for name in sources if name not in of_row]
        return RowState(row, (), "run") if not missing else RowState(row, (), "not run", f"waits for {missing[0]}")
    if found and row.shows:
        found = [entry for entry in found if _is_measured(row, entry)]
        if not found:
            return RowState(row, (), "not run", f"{sources[0]} was run without measuring it")
    begun = _begun_state(row, runs, found) if runs is not None and row.kind == "train" else None
    if found:
        return RowState(row, tuple(found), _verdict(row, found), ": ".join(begun or ()))
    return RowState(row, (), *(begun or ("not run", why_not(row))))


def _begun_state(row: Row, runs: Path, found: Sequence[Entry]) -> tuple[Status, str] | None:
    """Return status and progress of a run without a result, in training or not; None if there is no such run."""
    folder = _begun(row, runs, {entry["seed"] for entry in found})
    if folder is None:
        return None
    if other := _begun_otherwise(folder, row):
        return "not run", f"{folder} was started with other {other}: --again trains it again"
    progress = _progress(folder)
    if is_locked(folder):
        return "running", progress
    try:
        ended = invocations(folder)[-1].get("ended", "")
    except (RunFolderError, IndexError):  # nobody kept count, or it is damaged, which the next call says
        ended = ""
    return ("diverged", f"{ended}; {progress}") if ended else ("stopped", progress)


def shown_values(row: Row, entries: Sequence[Entry]) -> dict[str, Mean]:
    """Return the numbers that the row shows, averaged over seeds."""
    tables = [_shown(row, entry) for entry in entries if row.shows]
    names = (row.published.values or tables[0]) if tables else ()
    return {name: Mean.from_values([table[name] for table in tables]) for name in names}


def _shown(row: Row, entry: Entry) -> dict[str, Any]:
    """Return the numbers of an entry that the row shows; empty if they were not measured."""
    found = cast(dict[str, Any], entry)
    for name in row.shows:
        found = found.get(name, {})
    return found


def _is_measured(row: Row, entry: Entry) -> bool:
    """Whether an entry has all that the row shows."""
    found = _shown(row, entry)
    return bool(found) and all(name in found for name in row.published.values)


def _verdict(row: Row, entries: Sequence[Entry]) -> Status:
    if row.stands_in:
        return "run"
    if row.shows and row.published.values:
        ours = shown_values(row, entries)
        near = all(_near(row.published, name, value.mean) for name, value in ours.items())
        return "reached" if near else "not reached"
    apart = RowState(row, tuple(entries), "run").difference
    if apart is None:
        return "run"
    return "reached" if _within(apart, TOLERANCE) else "not reached"


def _near(published: Published, name: str, ours: float) -> bool:
    """Whether a published number other than perplexity has been reached."""
    wanted = published.values[name]
    worse = {"more": wanted - ours, "less": ours - wanted, "neither": abs(ours - wanted)}[published.better]
    return _within(worse, TOLERANCE * max(1.0, abs(wanted)))


def _within(apart: float, allowed: float) -> bool:
    """Whether `apart` is at most `allowed`, up to the rounding of float64."""
    return round(apart - allowed, 9) <= 0


def why_not(row: Row) -> str:
    """Return why a row has no result; nothing if it has only not been run."""
    if row.not_run:
        return row.not_run
    if row.kind == "drawn":
        return f"waits for {row.drawn_from[0]}"
    return "days on a CPU; name it in full to run it without a GPU" if row.needs == "gpu" else ""


def _begun(row: Row, runs: Path, entered: Collection[int]) -> Path | None:
    """Return the run folder of a row: of several seeds and stages one in training, otherwise the latest of those whose
    seeds have not been `entered` in the ledger; None if there is none."""
    parent, name = runs / Path(row.name).parent, Path(row.name).name
    begun = [path for path in parent.glob(f"{name}.seed-*/{SETTINGS}") if SEED_AND_STAGE.search(path.parent.name)]
    found = [path.parent for path in sorted(begun, key=lambda path: path.stat().st_mtime_ns)]
    running = [folder for folder in found if is_locked(folder)]
    unfinished = [folder for folder in found if _seed_and_stage(folder)[0] not in entered]
    return next(iter([*running, *reversed(unfinished)]), None)


def _begun_otherwise(folder: Path, row: Row) -> str:
    """Return the names of the settings in which a run folder differs from the row; empty if it can be resumed."""
    try:
        begun = recorded_settings(folder)
    except RunFolderError as error:
        return f"settings ({error})"
    if begun is None:
        return ""
    _, stage = _seed_and_stage(folder)
    if stage > len(row.stages):
        return f"number of stages (this is number {stage})"
    changes = row.stages[stage - 1]
    return ", ".join(changed_settings(begun, row.settings(begun.training.seed, changes), but=("training.start_from",)))


def _seed_and_stage(folder: Path) -> tuple[int, int]:
    found = SEED_AND_STAGE.search(folder.name)
    assert found is not None
    return int(found[1]), int(found[2] or 1)


def _progress(folder: Path) -> str:
    """Return the progress of a run, in words: epoch, best validation perplexity and training time."""
    seed, stage = _seed_and_stage(folder)
    which = f"seed {seed}, " if seed > 1 else ""
    which += f"stage {stage}, " if stage > 1 else ""
    try:
        lines = finished_epochs(folder)
    except RunFolderError as error:  # the other rows can be listed all the same
        return str(error)
    finished = (lines[-1]["epoch"], lines[-1]["seconds"]) if lines else (0, 0.0)
    # the later one: a validation may come before its epoch ends
    epochs, seconds = max(finished, live_progress.read(folder) or finished, key=lambda each: each[1])
    best = f", best validation {format_perplexity(min(line['valid_perplexity'] for line in lines))}" if lines else ""
    return f"{which}epoch {hundredths(epochs)}{best}, {clock(seconds)} trained"
