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
"""Inches of a row."""
WIDEST = 0.3
"""What is further off is drawn at the edge; its numbers stand beside it."""


@dataclass(frozen=True)
class Point:
    """A row."""

    row: str
    published: float
    ours: float
    reached: bool

    @property
    def difference(self) -> float:
        """Ours less the published one, as a share of it."""
        return self.ours / self.published - 1


@dataclass(frozen=True)
class Overview:
    """A point a row, in the papers' order."""

    points: tuple[Point, ...]
    name: str = "published-and-ours"
    group: str = ""
    """It belongs to no table."""
    short_title: str = "all rows"
    beside: str = "ours  (published)"
    """The heading above the numbers."""

    @property
    def title(self) -> str:
        """What is to be seen."""
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
        """Rows downwards, differences from left to right."""
        places = range(len(self.points))
        apart = [max(-WIDEST, min(point.difference, WIDEST)) for point in self.points]
        axes.axvspan(-1, TOLERANCE, color="#e5e9f0", zorder=0)
        axes.axvline(0, color="#4c566a", linewidth=0.8)
        for reached, label, colour in ((True, "reached", REACHED), (False, "not reached", NOT_REACHED)):
            chosen = [place for place in places if self.points[place].reached == reached]
            named = label if chosen else None  # no key to what is not there
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
    """Of those with a published number of the same text; None where there are none."""
    points = tuple(
        Point(f"{state.row.paper} {state.row.short_name}", published, ours.mean, state.status == "reached")
        for state in rows
        if state.row.kind != "drawn"
        and state.difference is not None
        and (published := state.row.published.test)
        and (ours := state.ours("test"))
    )
    return Overview(points) if points else None
