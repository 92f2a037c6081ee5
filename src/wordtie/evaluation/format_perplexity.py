"""How a perplexity is printed; here alone, so that a list of runs need not load torch."""

from __future__ import annotations

MEANS_NOTHING = 1e5
"""From here on a perplexity is of a run that blew up."""


def format_perplexity(perplexity: float) -> str:
    """With two decimals; one that means nothing any more, as 3.1e+05."""
    return f"{perplexity:.2f}" if perplexity < MEANS_NOTHING else f"{perplexity:.2g}"
