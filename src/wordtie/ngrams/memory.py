"""Check that the n-grams of a text can be counted in memory, before they are counted."""

from __future__ import annotations

from wordtie.config.machine import machine_memory
from wordtie.errors import SettingsError

COUNTING = 50
"""Bytes per token and order while n-grams are counted: 45 for 200,000 tokens, 40 for two million."""


def bytes_to_count(tokens: int, order: int) -> int:
    """Return the bytes of memory needed to count the n-grams of `tokens` tokens of text."""
    return COUNTING * order * tokens


def ngrams_fit(tokens: int, order: int) -> bool:
    """Whether the n-grams can be counted in memory."""
    return bytes_to_count(tokens, order) <= machine_memory()


def check_ngrams_fit(tokens: int, order: int | None, hint: str = "take a smaller --ngram, or --ngram none") -> None:
    """Raise a `SettingsError` with this hint if the n-grams do not fit into memory, which would be noticed late."""
    if order is not None and not ngrams_fit(tokens, order):
        needed, available = bytes_to_count(tokens, order), machine_memory()
        raise SettingsError(
            f"counting {order}-grams of {tokens:,} tokens needs {needed / 1e9:,.1f} GB, and this machine has "
            f"{available / 1e9:,.1f} GB: {hint}"
        )
