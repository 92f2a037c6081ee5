"""A figure of a reading-time analysis: gains with confidence intervals, and what surprisal explains of the times."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wordtie.config.paths import path_of
from wordtie.errors import UsageError
from wordtie.inference.reading_times import ReadingTimeResult, ReadingTimes
from wordtie.storage.atomic import atomic_write

FORMATS = (".svg", ".png", ".pdf")
BINS = 10
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def draw(data: ReadingTimes, result: ReadingTimeResult, path: str | Path, time: str) -> None:
    """Write the figure: on the left the gain of each surprisal with its 95 % interval over items, on the right the mean
    error of the baseline on held-out items, by tenths of the words from the least to the most surprising.

    Needs matplotlib. Raises `UsageError` for an unknown format, `SaveError`.
    """
    path = path_of(path)
    if path.suffix not in FORMATS:
        raise UsageError(f"--figure {path}: the name must end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "wordtie", "font.size": 9}):
        figure = Figure(figsize=(8, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        for number, gain in enumerate(result.gains):
            colour = COLOURS[number % len(COLOURS)]
            interval = 1.96 * gain.gain.standard_error
            left.errorbar(number, gain.gain.nats, interval, fmt="o", capsize=4, color=colour)
            surprisal_N = data.surprisal[gain.name][:, 0]
            tenths = np.array_split(np.argsort(surprisal_N, kind="stable"), min(BINS, len(surprisal_N)))
            errors = [result.baseline.error_N[tenth] for tenth in tenths]
            right.errorbar(
                [surprisal_N[tenth].mean() for tenth in tenths],
                [error.mean() for error in errors],
                [1.96 * error.std() / np.sqrt(len(error)) for error in errors],
                fmt="o-", capsize=2, color=colour, label=gain.name,
            )  # fmt: skip
        left.axhline(0, color="#999999", linewidth=0.8)
        left.set_xticks(range(len(result.gains)), [gain.name for gain in result.gains], rotation=15)
        left.set_xlim(-0.5, len(result.gains) - 0.5)
        left.set_ylabel("gain per word, nats")
        right.axhline(0, color="#999999", linewidth=0.8)
        right.set_xlabel("surprisal, bits")
        right.set_ylabel(f"{time} beyond baseline")
        right.legend(frameon=False)
        with atomic_write(path) as new:
            figure.savefig(new, metadata={"Date": None} if path.suffix == ".svg" else None)
