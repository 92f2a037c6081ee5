"""A figure as plain numbers, and where its y axis ends."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from wordtie.evaluation.format_perplexity import MEANS_NOTHING, format_perplexity

DISTANCE = "subspace distance"
LATER_STAGE = "later stage"
FIRST_EPOCHS = 1.6
"""Top of the y axis of validation curves, as a multiple of the best perplexity, unless more must be in view."""


def digest(drawn: dict[str, Any]) -> str:
    """Return the SHA-256 of the data that a figure is drawn from."""
    return hashlib.sha256(json.dumps(drawn, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Figure:
    """Lines over a common axis."""

    name: str
    group: str
    """paper/table of the rows that it shows."""
    title: str
    x: str
    y: str
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    """(x values, y values) of each line, by label."""
    later_stages: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Number of points before each stage but the first, by label."""
    top: float | None = None
    """Top of the y axis; None: the highest point."""
    spreads: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Standard deviation of each point, which is then a mean, by label."""

    @property
    def digest(self) -> str:
        """SHA-256 of all that is drawn."""
        drawn = asdict(self)
        if not self.spreads:  # drawings without them may be older than this field
            del drawn["spreads"]
        return digest(drawn)

    @property
    def short_title(self) -> str:
        """The part of the title in brackets, as `inan-2017, Figure 2a`."""
        return self.title.partition("(")[2].partition(")")[0]

    @property
    def y_range(self) -> tuple[float, float]:
        """Lower and upper end of the y axis: all points are in view, except those that `top` cuts off."""
        if self.y == DISTANCE:
            return 0.0, 1.05
        low, high = self._extremes
        if self.is_logarithmic:
            return low / 1.2, high * 1.2
        margin = 0.04 * (high - low) or 1.0
        return low - margin, high + (margin if self.top is None else 0.0)

    @property
    def is_logarithmic(self) -> bool:
        """Whether the y axis is logarithmic, lest a bad run hide the differences between the others."""
        low, high = self._extremes
        return self.y != DISTANCE and high > 10 * low

    @property
    def _extremes(self) -> tuple[float, float]:
        values = [value for _, y in self.lines.values() for value in y]
        high = max(values) if self.top is None else self.top
        return min(*values, high), high


def cut_off(figure: Figure) -> Figure:
    """Cut off first epochs and runs that blew up, which would hide all other differences; say so in the title."""
    values, ends = [value for _, y in figure.lines.values() for value in y], _ends(figure)
    to_be_seen = [1.05 * end for end in ends.values() if end <= MEANS_NOTHING]
    if figure.x == "epoch":
        to_be_seen.append(FIRST_EPOCHS * min(values))
    top = min(max(to_be_seen, default=MEANS_NOTHING), MEANS_NOTHING)
    if max(values) <= top:
        return figure
    blown_up = [f"{name} ({format_perplexity(end)})" for name, end in ends.items() if end > top]
    title = f"{figure.title}. Out of view, since it blew up: {', '.join(blown_up)}" if blown_up else figure.title
    title += f". Perplexities above {top:.0f} are cut off" if figure.x == "epoch" else ""
    return replace(figure, title=title, top=top)


def _ends(figure: Figure) -> dict[str, float]:
    """Return the points to keep in view, by name: ends of curves, starts of stages, or all points of other figures."""
    if figure.x == "epoch":
        begins = {
            f"{label}, stage {stage}": figure.lines[label][1][n]
            for label, before in figure.later_stages.items()
            for stage, n in enumerate(before, start=2)
        }
        return begins | {label: y[-1] for label, (_, y) in figure.lines.items()}
    return {f"{figure.x} = {x:g}": y for line in figure.lines.values() for x, y in zip(*line, strict=True)}
