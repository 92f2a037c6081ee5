"""Whether the n-grams of a text can be counted in memory: asked before they are."""

from __future__ import annotations

from wordtie.config.machine import machine_memory
from wordtie.errors import SettingsError

COUNTING = 50
"""Bytes for each token and order while n-grams are counted: 45 of 200,000 tokens, 40 of two million."""


def bytes_to_count(tokens: int, order: int) -> int:
    """Memory that counting the n-grams of so many tokens of text takes."""
    return COUNTING * order * tokens


def ngrams_fit(tokens: int, order: int) -> bool:
    """Whether they can be counted in memory."""
    return bytes_to_count(tokens, order) <= machine_memory()


def check_ngrams_fit(tokens: int, order: int | None, hint: str = "take a smaller --ngram, or --ngram none") -> None:
    """Raise a `SettingsError` with this hint if they cannot, which would be noticed late."""
    if order is not None and not ngrams_fit(tokens, order):
        needed, available = bytes_to_count(tokens, order), machine_memory()
        raise SettingsError(
            f"counting {order}-grams of {tokens:,} tokens needs {needed / 1e9:,.1f} GB, and this machine has "
            f"{available / 1e9:,.1f} GB: {hint}"
        )
