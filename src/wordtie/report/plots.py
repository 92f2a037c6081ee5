"""The papers' figures, drawn from the ledger: SVG, with a digest of what was drawn in it.

A figure is described by plain numbers first (`figures`), which needs no matplotlib; so a check can tell whether a
drawing is of these numbers, whatever version drew it.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from wordtie.report.status import RowState

COLOURS = ("#4c566a", "#d08770", "#5e81ac", "#a3be8c", "#b48ead", "#ebcb8b", "#88c0d0")


@dataclass(frozen=True)
class Figure:
    """Lines over a common axis."""

    name: str
    title: str
    x: str
    y: str
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    """Label to (x values, y values)."""

    @property
    def digest(self) -> str:
        """SHA-256 of all that is drawn."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def figures(rows: Sequence[RowState]) -> list[Figure]:
    """Those figures for which there are results."""
    drawn = [
        validation_curves(rows, "inan-2017", "figure-2-small", "inan-2017/table-1/ptb-small-",
                          "Validation perplexity by epoch, small models on PTB (inan-2017, Figure 2a)"),
        validation_curves(rows, "inan-2017", "figure-2-large", "inan-2017/table-1/ptb-large-",
                          "Validation perplexity by epoch, large models on PTB (inan-2017, Figure 2b)"),
        subspace_curve(rows, "figure-1a", "inan-2017/figure-1/a-beta-", "β",
                       "Subspace distance of input and output vectors against β, τ = 10 (inan-2017, Figure 1a)"),
        subspace_curve(rows, "figure-1b", "inan-2017/figure-1/b-tau-", "τ",
                       "Subspace distance of input and output vectors against τ, β = 1 (inan-2017, Figure 1b)"),
        gamma_curve(rows, "figure-1", "kong-2019/figure-1/gamma-",
                    "Validation perplexity against γ, VS: Kneser-Ney, 512 units (kong-2019, Figure 1)"),
        gamma_curve(rows, "figure-1-scaled-down", "kong-2019/scaled-down/figure-1-gamma-",
                    "Validation perplexity against γ, VS: Kneser-Ney, 200 units (kong-2019, Figure 1, scaled down)"),
    ]  # fmt: skip
    return [figure for figure in drawn if figure.lines]


def validation_curves(rows: Sequence[RowState], paper: str, name: str, prefix: str, title: str) -> Figure:
    """A line a row: validation perplexity of every epoch of the first seed, a second session's after the first's."""
    lines = {}
    for state in rows:
        if state.row.name.startswith(prefix) and state.entries and "curve" in state.entries[0]:
            sessions = state.entries[0].get("sessions", state.entries[:1])
            valid = [perplexity for session in sessions for perplexity in session["curve"]["valid"]]
            lines[state.row.label.partition(",")[0]] = (list(range(1, len(valid) + 1)), valid)
    return Figure(f"{paper}-{name}", title, "epoch", "validation perplexity", lines)


def subspace_curve(rows: Sequence[RowState], name: str, prefix: str, x: str, title: str) -> Figure:
    """One line: the distance that each setting came to, the mean over its seeds."""
    found = [
        (
            float(state.row.name.removeprefix(prefix)),
            fmean(e["measures"]["subspace"]["distance"] for e in state.entries),
        )
        for state in rows
        if state.row.name.startswith(prefix) and state.entries
    ]
    return Figure(f"inan-2017-{name}", title, x, "subspace distance", _line(found))


def _line(points: list[tuple[float, float]]) -> dict[str, tuple[list[float], list[float]]]:
    """Ours, by rising x; nothing where one point is all there is."""
    return {"ours": ([x for x, _ in sorted(points)], [y for _, y in sorted(points)])} if len(points) > 1 else {}


def gamma_curve(rows: Sequence[RowState], name: str, prefix: str, title: str) -> Figure:
    """One line: the validation perplexity that each gamma came to."""
    found = [
        (float(state.row.name.removeprefix(prefix)), mean.mean)
        for state in rows
        if state.row.name.startswith(prefix) and (mean := state.ours("valid"))
    ]
    return Figure(f"kong-2019-{name}", title, "γ", "validation perplexity", _line(found))


def svg(figure: Figure) -> str:
    """Draw it. Raises `ImportError` where matplotlib is missing."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    style: Any = {"svg.hashsalt": figure.name, "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10}
    with matplotlib.rc_context(style):
        drawing, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
        for (label, (x, y)), colour in zip(figure.lines.items(), COLOURS * len(figure.lines), strict=False):
            axes.plot(x, y, label=label, color=colour, marker="o" if len(x) < 20 else "", markersize=3.5)
        values = sorted(value for _, y in figure.lines.values() for value in y)
        if figure.y == "subspace distance":
            axes.set_ylim(0, 1.02)
        elif len(values) > 4:  # the first epochs would press all that matters into a corner
            axes.set_ylim(values[0] * 0.98, min(values[-1] * 1.02, values[0] * 1.6))
        axes.set(xlabel=figure.x, ylabel=figure.y)
        axes.grid(color="#d8dee9", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        text = io.StringIO()
        drawing.savefig(text, format="svg", metadata={"Date": None}, transparent=False)
        pyplot.close(drawing)
    drawn = re.sub(r"^.*?(?=<svg)", "", text.getvalue(), flags=re.DOTALL)
    return f"<!-- drawn from {figure.digest} -->\n{drawn}"


def digest_in(path: Path) -> str:
    """The digest that a drawing carries; empty where there is none."""
    if not path.exists():
        return ""
    found = re.match(r"<!-- drawn from ([0-9a-f]{64}) -->", path.read_text(encoding="utf-8"))
    return found[1] if found else ""
