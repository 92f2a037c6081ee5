"""Format perplexities; a module of its own, so that a list of runs need not load torch."""

from __future__ import annotations

MEANS_NOTHING = 1e5
"""Perplexity from which on a run has blown up."""


def format_perplexity(perplexity: float) -> str:
    """Format a perplexity with two decimals; one from `MEANS_NOTHING` on, as 3.1e+05."""
    return f"{perplexity:.2f}" if perplexity < MEANS_NOTHING else f"{perplexity:.2g}"
