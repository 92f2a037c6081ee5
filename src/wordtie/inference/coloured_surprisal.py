"""What `LoadedModel.surprisal` returns: a list of words that a notebook shows coloured by surprisal.

The number above a word is its surprisal in bits; the stronger its colour, the less it was expected. The colour is a
translucent orange over whatever background the page has, and the text keeps the page's own colour, so that both are
readable on a light and on a dark page.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby

from wordtie.inference.surprisal import WordSurprisal

COLOUR = (213, 94, 0)
STRONGEST = 0.6
"""Opacity of the background of a word of `FULL_BITS` or more."""
FULL_BITS = 16.0
MOST_WORDS = 2000
"""Largest number of words that are shown: a browser becomes slow with more."""


class SurprisalList(list[WordSurprisal]):
    """A list of words that notebooks show as coloured text."""

    def _repr_html_(self) -> str:
        return as_html(self)


def as_html(words: Sequence[WordSurprisal]) -> str:
    """Return lines of coloured words, with a legend, as HTML that needs no style sheet or script."""
    shown = words[:MOST_WORDS]
    lines = [
        f'<div style="margin: 0.6em 0">{" ".join(map(_word, line))}</div>'
        for _, line in groupby(shown, key=lambda word: word.line)
    ]
    left_out = f" Of {len(words):,} words the first {MOST_WORDS:,} are shown." if len(words) > MOST_WORDS else ""
    return f'<div style="line-height: 2.4">{"".join(lines)}<small>{_legend(words)}{left_out}</small></div>'


def _word(word: WordSurprisal) -> str:
    opacity = STRONGEST * min(max(word.surprisal_bits, 0.0) / FULL_BITS, 1.0)
    style = f"background: rgba({COLOUR[0]}, {COLOUR[1]}, {COLOUR[2]}, {opacity:.3f}); padding: 0 0.2em"
    told = f"surprisal {word.surprisal_bits:.2f} bits, entropy before it {word.entropy_bits:.2f} bits"
    if word.oov:
        style += "; text-decoration: underline dotted"
        told += "; not in the vocabulary, scored as <unk>"
    bits = f"{word.surprisal_bits:.1f}"
    return f'<ruby style="{style}" title="{escape(told)}">{escape(word.word)}<rt>{bits}</rt></ruby>'


def _legend(words: Sequence[WordSurprisal]) -> str:
    if not words:
        return "No words."
    mean = sum(word.surprisal_bits for word in words) / len(words)
    unknown = "; dotted: not in the vocabulary" if any(word.oov for word in words) else ""
    return f"Surprisal in bits above each word, {mean:.2f} on average; the stronger the colour, the higher{unknown}."
