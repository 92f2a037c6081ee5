"""Format perplexities and the numbers of tables; a module of its own, so that a list of runs need not load torch."""

from __future__ import annotations

MEANS_NOTHING = 1e5
"""Perplexity from which on a run has blown up."""
LONGEST = 1e9
"""Perplexity from which on all its digits would only take room."""
SMALL = 1e-5
"""Below it, six decimals say little."""


def format_perplexity(perplexity: float) -> str:
    """Format a perplexity with two decimals, 1234.56; whole from `MEANS_NOTHING`, 3.1e+12 from `LONGEST` on.

    It has no separators: programs read it, too.
    """
    if perplexity < MEANS_NOTHING:
        return f"{perplexity:.2f}"
    return f"{perplexity:.0f}" if perplexity < LONGEST else f"{perplexity:.2g}"


def format_epochs(epochs: float, digits: int) -> str:
    """Format a number of epochs with so many significant digits, and all before the point: `1,234 epochs`."""
    number = f"{epochs:.{digits}g}" if epochs < 10 ** (digits - 1) else f"{epochs:,.0f}"
    return f"{number} epoch{'' if number == '1' else 's'}"


def format_number(number: float) -> str:
    """Format a number of a table with six decimals; one near zero, such as a probability, as 4.2e-08."""
    return f"{number:.3g}" if 0 < abs(number) < SMALL else f"{number:.6f}"
