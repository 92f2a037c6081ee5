"""How the tables print numbers."""

from __future__ import annotations

from wordtie.evaluation.format_perplexity import MEANS_NOTHING, format_perplexity


def number(value: float | None) -> str:
    """Format a number with one or two decimals; a dash if there is none."""
    if value is None:
        return "–"
    return format_perplexity(value).removesuffix("0") if value < MEANS_NOTHING else format_perplexity(value)


def percent(value: float | None) -> str:
    """Format a share as a percentage with its sign: below zero is better than published."""
    if value is None:
        return "–"
    hundredths = round(100 * value, 1) + 0.0
    return f"{hundredths:+.1f} %" if hundredths < MEANS_NOTHING else f"{hundredths:+.2g} %"


def count(value: float | None) -> str:
    """Format a number of parameters, as `4.65M`."""
    return "–" if value is None else f"{value / 1e6:.2f}M" if value < 100e6 else f"{value / 1e6:.0f}M"


def printed_count(value: float | None) -> str:
    """Format a number of parameters as the paper prints it: `66M`, `4.65M`, `2.51B`."""
    return "–" if value is None else f"{value / 1e9:g}B" if value >= 1e9 else f"{value / 1e6:g}M"
