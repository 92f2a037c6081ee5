"""All rows of the papers in one figure: how far ours are from the published test perplexities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wordtie.evaluation.format_perplexity import format_perplexity
from wordtie.reproduction.ledger.status import TOLERANCE, RowState
from wordtie.reproduction.render.figure import digest
from wordtie.reproduction.render.formats import number

REACHED, NOT_REACHED = "#0072b2", "#d55e00"
LINE = 0.24
"""Height of a row, in inches."""
WIDEST = 0.3
"""Largest relative difference drawn; a larger one is drawn at the edge, with its numbers beside it."""


@dataclass(frozen=True)
class Point:
    """A row in the figure."""

    row: str
    published: float
    ours: float
    reached: bool

    @property
    def difference(self) -> float:
        """Relative difference of our perplexity from the published one."""
        return self.ours / self.published - 1


@dataclass(frozen=True)
class Overview:
    """A figure with one point per row, in the papers' order."""

    points: tuple[Point, ...]
    name: str = "published-and-ours"
    group: str = ""
    """Empty, since the figure belongs to no table."""
    short_title: str = "all rows"
    beside: str = "ours  (published)"
    """Heading above the numbers."""

    @property
    def title(self) -> str:
        """Title of the figure."""
        reached = sum(point.reached for point in self.points)
        return (
            f"Test perplexity and, in brackets, the published one: {reached} of the {len(self.points)} rows that were "
            f"run come within {100 * TOLERANCE:g} % of it (shaded), or below"
        )

    @property
    def digest(self) -> str:
        """SHA-256 of all that is drawn."""
        return digest(asdict(self))

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, in inches."""
        return 7.6, 1.0 + LINE * len(self.points)

    def draw(self, axes: Any) -> None:
        """Draw rows from top to bottom, and differences from left to right."""
        places = range(len(self.points))
        apart = [max(-WIDEST, min(point.difference, WIDEST)) for point in self.points]
        axes.axvspan(-1, TOLERANCE, color="#e5e9f0", zorder=0)
        axes.axvline(0, color="#4c566a", linewidth=0.8)
        for reached, label, colour in ((True, "reached", REACHED), (False, "not reached", NOT_REACHED)):
            chosen = [place for place in places if self.points[place].reached == reached]
            named = label if chosen else None  # no legend entry without points
            axes.plot([apart[place] for place in chosen], chosen, "o" if reached else "D", color=colour, label=named)
        axes.set_yticks(places, [point.row for point in self.points], fontsize=9)
        axes.set_ylim(len(self.points) - 0.5, -0.5)
        axes.set_xlim(min(*apart, 0.0) - 0.01, max(*apart, TOLERANCE) + 0.01)
        axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:+.3g} %" if round(share, 9) else "0 %")
        axes.set_xlabel("ours, less the published test perplexity")
        numbers = axes.secondary_yaxis("right")
        beside = [f"{format_perplexity(point.ours)}  ({number(point.published)})" for point in self.points]
        numbers.set_yticks(places, beside, fontsize=9)
        numbers.tick_params(length=0)
        numbers.spines["right"].set_visible(False)
        axes.annotate(self.beside, (1, 1), (4, 3), "axes fraction", "offset points", fontsize=9, annotation_clip=False)


def overview(rows: Sequence[RowState]) -> Overview | None:
    """Return the overview of the rows with a published number for the same text; None if there are none."""
    points = tuple(
        Point(f"{state.row.paper} {state.row.short_name}", published, ours.mean, state.status == "reached")
        for state in rows
        if state.row.kind != "drawn"
        and state.difference is not None
        and (published := state.row.published.test)
        and (ours := state.ours("test"))
    )
    return Overview(points) if points else None
