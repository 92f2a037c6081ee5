"""The papers' figures, drawn from the ledger as SVG that contains a digest of the data drawn.

A figure is described by plain numbers first (`figures`), which needs no matplotlib; so a check can tell whether a
drawing is of these numbers, whatever version drew it.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, TypeAlias

from wordtie.evaluation.format_perplexity import MEANS_NOTHING
from wordtie.reproduction.ledger.record import stages_of
from wordtie.reproduction.ledger.status import RowState
from wordtie.reproduction.render.figure import DISTANCE, LATER_STAGE, Figure, cut_off
from wordtie.reproduction.render.overview import Overview, overview

Lines: TypeAlias = dict[str, tuple[list[float], list[float]]]
PUBLISHED = "published, about"
"""Label of the points that a paper describes without printing numbers."""
WITHOUT_NOISE = "tied, without noise"
COLOURS = {
    "VD-LSTM": "#4c566a",
    "VD-LSTM+AL": "#d55e00",
    "VD-LSTM+RE": "#0072b2",
    "VD-LSTM+REAL": "#009e73",
    PUBLISHED: "#a8442f",
}
"""Colour of each label, so that a model has the same colour in every figure."""
OTHER_COLOUR = "#4c566a"


def figures(rows: Sequence[RowState]) -> list[Figure | Overview]:
    """Return the figures that have results: the overview of all rows, then the papers' figures."""
    every = overview(rows)
    return [*([every] if every else []), *papers_figures(rows)]


def papers_figures(rows: Sequence[RowState]) -> list[Figure]:
    """Return the papers' figures that have results."""
    drawn = [
        validation_curves(rows, "small", "inan-2017/table-1/ptb-small-",
                          "Validation perplexity by epoch, small models on PTB (inan-2017, Figure 2a)"),
        validation_curves(rows, "large", "inan-2017/table-1/ptb-large-",
                          "Validation perplexity by epoch, large models on PTB (inan-2017, Figure 2b)"),
        subspace_curve(rows, "figure-1a", "inan-2017/figure-1/a-beta-", "β",
                       "Subspace distance of input and output vectors against β, τ = 10 (inan-2017, Figure 1a)"),
        subspace_curve(rows, "figure-1b", "inan-2017/figure-1/b-tau-", "τ",
                       "Subspace distance of input and output vectors against τ, β = 1 (inan-2017, Figure 1b)"),
        gamma_curve(rows, "figure-1", "kong-2019/figure-1/gamma-", "kong-2019/table-2/ptb-512-tied",
                    "Validation perplexity against γ, VS: Kneser-Ney, 512 units (kong-2019, Figure 1)"),
        gamma_curve(rows, "figure-1-scaled-down", "kong-2019/scaled-down/figure-1-gamma-",
                    "kong-2019/scaled-down/ptb-200-tied",
                    "Validation perplexity against γ, VS: Kneser-Ney, 200 units (kong-2019, Figure 1, scaled down)"),
    ]  # fmt: skip
    return [cut_off(figure) for figure in drawn if figure.lines]


def validation_curves(rows: Sequence[RowState], size: str, prefix: str, title: str) -> Figure:
    """Return a figure with a line per row: validation perplexity by epoch of the first seed, over all stages."""
    lines, later_stages, seeds = {}, {}, 1
    for state in rows:
        if state.row.name.startswith(prefix) and state.entries and "curve" in state.entries[0]:
            stages = stages_of(state.entries[0])
            valid = [perplexity for stage in stages for perplexity in stage["curve"]["valid"]]
            label = state.row.label.partition(",")[0]
            lines[label] = (list(range(1, len(valid) + 1)), valid)
            seeds = max(seeds, len(state.entries))
            if len(stages) > 1:
                later_stages[label] = list(accumulate(len(each["curve"]["valid"]) for each in stages[:-1]))
    if later_stages:
        title += f". ▲ {LATER_STAGE}: the model is trained once more, at the first rate again"
    title += ". Of several seeds the first is drawn" if seeds > 1 else ""
    return Figure(f"inan-2017-figure-2-{size}", "inan-2017/figure-2", title, "epoch", "validation perplexity",
                  lines, later_stages)  # fmt: skip


def subspace_curve(rows: Sequence[RowState], name: str, prefix: str, x: str, title: str) -> Figure:
    """Return a figure of the final distance at each setting, as mean and spread over seeds, beside the paper's."""
    of_panel = [state for state in rows if state.row.name.startswith(prefix)]
    found = [(_setting(state, prefix), mean) for state in of_panel for mean in state.values().values()]
    means = sorted(found, key=lambda each: each[0])
    lines = _line("ours", [(x, mean.mean) for x, mean in means])
    spreads = {}
    if lines and any(mean.spread is not None for _, mean in means):
        spreads["ours"] = [mean.spread or 0.0 for _, mean in means]
        of_seeds = ", ".join(f"{mean.seeds} at {x} = {value:g}" for value, mean in means if mean.seeds > 1)
        title += f". Bars: standard deviation over seeds ({of_seeds})"
    if lines:
        told = [(_setting(state, prefix), y) for state in of_panel for y in state.row.published.values.values()]
        lines |= _line(PUBLISHED, told, fewest=1)
    return Figure(f"inan-2017-{name}", "inan-2017/figure-1", title, x, DISTANCE, lines, spreads=spreads)


def _setting(state: RowState, prefix: str) -> float:
    return float(state.row.name.removeprefix(prefix))


def _line(label: str, points: Sequence[tuple[float, float]], fewest: int = 2) -> Lines:
    """Return a line with its points in ascending order of x; empty if there are too few points."""
    ordered = sorted(points)
    return {label: ([x for x, _ in ordered], [y for _, y in ordered])} if len(points) >= fewest else {}


def gamma_curve(rows: Sequence[RowState], name: str, prefix: str, tied: str, title: str) -> Figure:
    """Return a figure of the final validation perplexity at each gamma; at 0, that of the tied model without noise."""
    found = [(state, mean.mean) for state in rows if (mean := state.ours("valid"))]
    lines = _line("ours", [(_setting(state, prefix), y) for state, y in found if state.row.name.startswith(prefix)])
    if lines:
        lines |= _line(WITHOUT_NOISE, [(0.0, y) for state, y in found if state.row.name == tied], fewest=1)
    table = prefix.rpartition("/")[0]
    return Figure(f"kong-2019-{name}", table, title, "γ", "validation perplexity", lines)


def svg(figure: Figure | Overview) -> str:
    """Draw a figure as SVG. Raises `ImportError` if matplotlib is missing."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    style: Any = {"svg.hashsalt": figure.name, "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 12}
    with matplotlib.rc_context(style):
        size = figure.size if isinstance(figure, Overview) else (7, 4.2)
        drawing, axes = pyplot.subplots(figsize=size, layout="constrained")
        figure.draw(axes) if isinstance(figure, Overview) else _draw_lines(axes, figure)
        axes.grid(color="#d8dee9", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        text = io.StringIO()
        drawing.savefig(text, format="svg", metadata={"Date": None}, transparent=False)
        pyplot.close(drawing)
    drawn = re.sub(r"^.*?(?=<svg)", "", text.getvalue(), flags=re.DOTALL)
    drawn = re.sub(r'<g id="[\w.]+"', "<g", drawn)  # otherwise several drawings in a page share their ids
    return f"<!-- drawn from {figure.digest} as {_sha256(drawn)} -->\n{drawn}"


def _draw_lines(axes: Any, figure: Figure) -> None:
    for label in figure.lines:
        _draw_line(axes, figure, label)
    if figure.later_stages:
        axes.plot([], [], "^", color=OTHER_COLOUR, label=LATER_STAGE)
    if figure.x == "epoch":
        axes.locator_params(axis="x", integer=True)
    if figure.is_logarithmic:
        axes.set_yscale("log")
    axes.set_ylim(*figure.y_range)
    axes.set(xlabel=figure.x, ylabel=figure.y)


def _draw_line(axes: Any, figure: Figure, label: str) -> None:
    """Draw a line, with a gap and a triangle where a later stage begins; the points that a paper describes, and the
    run without noise, are drawn as markers alone."""
    x, y = figure.lines[label][0], [min(each, 10 * MEANS_NOTHING) for each in figure.lines[label][1]]
    colour = COLOURS.get(label, OTHER_COLOUR)
    if label in (PUBLISHED, WITHOUT_NOISE):
        axes.plot(x, y, "D" if label == PUBLISHED else "o", label=label, color=colour, fillstyle="none", markersize=7)
        return
    if spread := figure.spreads.get(label):
        axes.errorbar(x, y, yerr=spread, fmt="none", ecolor=colour, capsize=3, elinewidth=1)
    later = figure.later_stages.get(label, [])
    marker = "o" if len(x) < 20 else ""
    for begin, end in pairwise([0, *later, len(x)]):
        of_line = label if begin == 0 else None
        axes.plot(x[begin:end], y[begin:end], label=of_line, color=colour, marker=marker, markersize=3.5)
    axes.plot([x[n] for n in later], [y[n] for n in later], "^", color=colour, markersize=7)


def digest_in(path: Path) -> str:
    """Return the digest in a drawing; empty if the drawing is missing, or not as the program made it."""
    if not path.exists():
        return ""
    head, _, drawn = path.read_text(encoding="utf-8", errors="replace").partition("\n")
    found = re.fullmatch(r"<!-- drawn from ([0-9a-f]{64}) as ([0-9a-f]{64}) -->", head)
    return found[1] if found and found[2] == _sha256(drawn) else ""


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
