"""Format perplexities and the numbers of tables; a module of its own, so that a list of runs need not load torch."""

from __future__ import annotations

MEANS_NOTHING = 1e5
"""Perplexity from which on a run has blown up."""
SMALL = 1e-5
"""Below it, six decimals say little."""


def format_perplexity(perplexity: float) -> str:
    """Format a perplexity with two decimals; one from `MEANS_NOTHING` on, as 3.1e+05."""
    return f"{perplexity:.2f}" if perplexity < MEANS_NOTHING else f"{perplexity:.2g}"


def format_number(number: float) -> str:
    """Format a number of a table with six decimals; one near zero, such as a probability, as 4.2e-08."""
    return f"{number:.3g}" if 0 < abs(number) < SMALL else f"{number:.6f}"
