"""A figure of the curves of runs: loss, validation perplexity, learning rate, words per second.

A run has its own colour, dashes and marker. The colours are those of Okabe & Ito (2008), which colour-blind people can
tell apart; dashes and markers need no colour.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from wordtie.config.paths import path_of
from wordtie.console import clock
from wordtie.errors import RunFolderError, UsageError
from wordtie.runs.curves import Curves, Point
from wordtie.storage.atomic import atomic_write

FORMATS = (".svg", ".png", ".pdf")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
DASHES = ("-", "--", "-.", ":")
MARKERS = "os^Dv<>p"
Against: TypeAlias = Literal["tokens", "seconds"]
"""Horizontal axis of the curves."""
LABELS = {"tokens": "training words, millions", "seconds": "seconds"}
PANELS = (
    ("loss", "training loss, nats per word"),
    ("valid_perplexity", "validation perplexity"),
    ("rate", "learning rate"),
    ("words_per_second", "words per second"),
)
"""Field of a `Point`, and title of its panel."""


def draw_curves(curves: Sequence[Curves], path: str | Path, against: Against | None = None) -> None:
    """Write the figure. `against` is `tokens` if all lines say how many were read, else `seconds`, unless given.

    Needs matplotlib. Raises `UsageError` for an unknown format, `RunFolderError` if there is nothing to draw or a run
    lacks the values to draw against, `SaveError`.
    """
    path = path_of(path)
    check_format(path)
    against = _checked_axis(curves, against)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "wordtie", "font.size": 9}):
        figure = Figure(figsize=(8, 5.6), layout="constrained")
        panels = figure.subplots(2, 2, sharex=True)
        for axes, (field, title) in zip(panels.flat, PANELS, strict=True):
            for number, run in enumerate(curves):
                _draw_run(axes, run["points"], field, against, number)
            _finish(axes, field, title, LABELS[against])
        names = _short_names([run["folder"] for run in curves])
        handles = [
            panels[0, 0].plot([], [], label=f"{name}{_state(run)}", **_look(number), markersize=4)[0]
            for number, (name, run) in enumerate(zip(names, curves, strict=True))
        ]
        longest = max(map(len, names))
        columns = max(1, min(len(curves), 4, 110 // (longest + 8)))
        figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)
        with atomic_write(path) as new:
            metadata = {"Date": None} if path.suffix == ".svg" else None
            figure.savefig(new, format=path.suffix[1:], metadata=metadata, dpi=150)


def check_format(path: Path) -> None:
    """Raise `UsageError` for a name that ends in no known format."""
    if path.suffix not in FORMATS:
        raise UsageError(f"--out {path}: the name must end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")


def _checked_axis(curves: Sequence[Curves], against: Against | None) -> Against:
    if not any(run["points"] for run in curves):
        for run in curves:
            if run["state"] == "damaged":
                raise RunFolderError(run["why"])
        done = all(run["state"] == "finished" for run in curves)
        why = "it was not trained step by step" if done else "wait for the first line of metrics.jsonl"
        raise RunFolderError(f"{curves[0]['folder']}: has no curves{'' if done else ' yet'}: {why}")
    silent = [run["folder"] for run in curves if any(point["tokens"] is None for point in run["points"])]
    if silent and against == "tokens":
        raise RunFolderError(f"{silent[0]}: does not say how many words were read when: draw it with --against seconds")
    return against or ("seconds" if silent else "tokens")


def _look(number: int) -> dict[str, Any]:
    """Return colour, dashes and marker of a run."""
    dashes = DASHES[number % len(DASHES)]
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": dashes, "marker": MARKERS[number % len(MARKERS)]}


def _draw_run(axes: Any, points: Sequence[Point], field: str, against: Against, number: int) -> None:
    if field == "loss" and all(point["loss"] is None for point in points):
        field = "epoch_loss"  # all that a run of an earlier version with short epochs has
    known: list[tuple[float, float]] = []
    for point in points:
        x, y = point[against], point[field]  # type: ignore[literal-required]
        if x is not None and y is not None:
            known.append((x / 1e6 if against == "tokens" else x, y))
    if known:
        few = len(known) <= 30
        axes.plot(*zip(*known, strict=True), **_look(number), markersize=4 if few else 0, linewidth=1.2)


def _finish(axes: Any, field: str, title: str, label: str) -> None:
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(label)
    axes.set_xlim(left=0)
    axes.tick_params(labelbottom=True)
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    if field == "valid_perplexity" and axes.lines:
        _log_scale(axes, [value for line in axes.lines for value in line.get_ydata()])
    elif field in ("rate", "words_per_second"):
        axes.set_ylim(0, 1.04 * axes.get_ylim()[1])
    if field == "words_per_second":
        axes.yaxis.set_major_formatter("{x:,.0f}")


def _log_scale(axes: Any, values: Iterable[float]) -> None:
    """Set a logarithmic scale with plain numbers (100, 150, 200), if the values differ enough for it to be of use."""
    values = list(values)
    low, high = min(values), max(values)
    if high < 4 * low:
        return
    ticks = [step * 10**power for power in range(-1, 12) for step in (1, 1.5, 2, 3, 4, 6, 8)]
    inside = [tick for tick in ticks if low * 0.95 <= tick <= high * 1.05]
    every = math.ceil(len(inside) / 10)
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.set_yticks(inside[::every], [f"{tick:,.4g}" for tick in inside[::every]])


def _short_names(folders: Sequence[str]) -> list[str]:
    """Return the names without the folders that all of them are in."""
    if len(folders) < 2:
        return list(folders)
    paths = [Path(folder).resolve() for folder in folders]
    common = os.path.commonpath([path.parent for path in paths])
    return [str(path.relative_to(common)) for path in paths]


def _state(run: Curves) -> str:
    """Return the state of an unfinished run, for the legend; empty if it is finished."""
    live = run["live"]
    if run["state"] != "running" or live is None or live["share"] is None:
        return "" if run["state"] == "finished" else f" ({run['state']})"
    left = "" if live["seconds_left"] is None else f", {clock(live['seconds_left'])} left"
    return f" (running, {100 * live['share']:.0f} %{left})"
