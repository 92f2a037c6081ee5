"""Seconds per million words and peak memory of training, against vocabulary, units and length of the text.

Small REAL's step on synthetic ids; each point in a process of its own, whose whole peak counts. A long text is not read
to its end: windows are taken from all over it, which is what its length can change.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.environment import describe
from benchmarks.harness import Effort
from benchmarks.memory import in_fresh_process, peak
from benchmarks.runner import CHECKOUT, save
from benchmarks.small_real import SETUP
from benchmarks.steps import Setup, Window, fast_contender, zipf_ids
from wordtie.data.batches import batches, window_count
from wordtie.errors import WordtieError
from wordtie.training.process import keep_freed_memory

FIGURES = CHECKOUT / "docs" / "figures"
TOKENS = 1_000_000
AXES: Mapping[str, Sequence[int]] = {
    "vocabulary": (10_000, 30_000, 100_000, 267_735),
    "units": (200, 400, 650, 1_000, 1_500),
    "tokens": (1_000_000, 10_000_000, 100_000_000),
}
QUICK: Mapping[str, Sequence[int]] = {"vocabulary": (10_000, 20_000), "units": (50, 200), "tokens": (100_000, 200_000)}
LABELS = {
    "vocabulary": "vocabulary V, words (H 200)",
    "units": "units H (V 10,000)",
    "tokens": "training text, tokens (V 10,000, H 200)",
}
BLOCK = 10_000_000


@dataclass(frozen=True)
class Point:
    """One place on one axis."""

    axis: str
    value: int
    seconds_per_million_words: float
    peak_mb: float


def setup_at(axis: str, value: int) -> tuple[Setup, int]:
    """The step and the length of the text."""
    if axis == "vocabulary":
        return replace(SETUP, words=value), TOKENS
    if axis == "units":
        return replace(SETUP, model=replace(SETUP.model, hidden=value)), TOKENS
    return SETUP, value


def write_ids(path: Path, tokens: int, words: int) -> None:
    """A memory-mapped text, block by block."""
    ids = np.lib.format.open_memmap(path, mode="w+", dtype=np.int32, shape=(tokens,))
    for seed, start in enumerate(range(0, tokens, BLOCK)):
        ids[start : start + BLOCK] = zipf_ids(min(BLOCK, tokens - start), words, seed)
    ids.flush()


def windows_all_over(path: Path, setup: Setup, count: int) -> Iterator[Window]:
    """`count` windows at equal distances from start to end, as the trainer reads them."""
    ids = np.load(path, mmap_mode="r")
    streams, steps = setup.training.streams, setup.training.steps
    last = window_count(len(ids), streams, steps) - 2
    for start in np.linspace(0, last, count).astype(int).tolist():
        inputs_TB, targets_TB = next(batches(ids, streams, steps, eos_id=0, start=start))
        yield torch.from_numpy(inputs_TB), torch.from_numpy(targets_TB)


def measure(axis: str, value: int, path: str, steps: int) -> Point:
    """In the process whose memory is looked at; reading the windows is timed with the step."""
    keep_freed_memory()  # as training does
    setup, _ = setup_at(axis, value)
    warm_up = 2
    step = fast_contender(setup, windows_all_over(Path(path), setup, warm_up + steps))
    seconds = []
    for _ in range(warm_up + steps):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    words = setup.training.streams * setup.training.steps
    return Point(axis, value, statistics.median(seconds[warm_up:]) / words * 1e6, peak() / 1e6)


def points(effort: Effort) -> list[Point]:
    """Of all axes."""
    found = []
    for axis, values in (QUICK if effort.quick else AXES).items():
        for value in values:
            print(f"measuring growth: {axis} {value:,}", file=sys.stderr)
            setup, tokens = setup_at(axis, value)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "train.npy"
                in_fresh_process(write_ids, path, tokens, setup.words)
                found.append(in_fresh_process(measure, axis, value, str(path), 3 if effort.quick else 25))
    return found


def short(number: int) -> str:
    """A label of an axis.

    >>> short(650), short(267_735), short(10_000_000)
    ('650', '268k', '10M')
    """
    if number >= 1_000_000:
        return f"{number / 1e6:.0f}M"
    return f"{number / 1e3:.0f}k" if number >= 10_000 else str(number)


def plot(found: Sequence[Point], title: str, folder: Path = FIGURES) -> list[Path]:
    """Time above, memory below, one column an axis; PNG and SVG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, rows = plt.subplots(2, len(AXES), figsize=(11, 6), sharex="col", sharey="row", layout="constrained")
    for column, axis in enumerate(AXES):
        here = [point for point in found if point.axis == axis]
        values = [point.value for point in here]
        for row, name in zip(rows, ("seconds_per_million_words", "peak_mb"), strict=True):
            row[column].loglog(values, [getattr(point, name) for point in here], "o-")
            row[column].grid(True, which="major", alpha=0.3)
        rows[1][column].set_xlabel(LABELS[axis])
        rows[1][column].set_xticks(values, [short(value) for value in values])
        rows[1][column].xaxis.minorticks_off()
    rows[0][0].set_ylabel("seconds per million words")
    rows[1][0].set_ylabel("peak memory, MB")
    figure.suptitle(title, fontsize="medium")
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"growth.{suffix}" for suffix in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=150)
    plt.close(figure)
    return paths


def run(effort: Effort, as_json: bool) -> dict[str, Any]:
    """Measure, keep, plot, print. A quick run keeps and plots nothing in the checkout.

    Raises `WordtieError` without matplotlib.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise WordtieError("growth is a plot, and matplotlib is not installed: pip install matplotlib")
    found = points(effort)
    record = {"name": "growth", "points": [asdict(point) for point in found], "quick": effort.quick, **describe()}
    if not effort.quick:
        save(record)
    with tempfile.TemporaryDirectory() as folder:
        machine = f"{record['machine']['processor']}, {record['threads']} threads"
        written = plot(found, f"Training small REAL on {machine}", Path(folder) if effort.quick else FIGURES)
    if not effort.quick:
        print("written:", *(path.relative_to(CHECKOUT) for path in written), file=sys.stderr)
    if as_json:
        print(json.dumps(record, ensure_ascii=False))
    else:
        for point in found:
            print(
                f"{point.axis:10} {point.value:>11,}  {point.seconds_per_million_words:8.1f} s per million words  "
                f"{point.peak_mb:8.0f} MB"
            )
    return record
