"""inan-2017, Table 4, in the page: the ten likeliest next words, as printed, and of every model that was asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from wordtie.pages.style import wide
from wordtie.reproduction.ledger.status import RowState
from wordtie.reproduction.papers.inan_2017_table_4 import PHRASES, PUBLISHED

TEN = 10
ILLEGIBLE = "… the rest is not legible in our copy of the paper"


def next_words(rows: Sequence[RowState]) -> Iterator[str]:
    """A table a phrase; the word that follows it in the text stands out."""
    asked: dict[str, Any] = {
        f"ours: {state.row.label}{_seed(state)}": state.entries[0]["measures"]["predictions"]
        for state in rows
        if state.row.kind == "train" and state.entries and "predictions" in state.entries[0].get("measures", {})
    }
    for phrase, following in PHRASES.items():
        yield f"<p>{escape(phrase)} <b class=next>{escape(following)}</b></p>"
        yield f"{wide(f'Next words after: {phrase}')}<table>"
        for label, words in PUBLISHED.items():
            rest = f" {ILLEGIBLE}" if len(words[phrase]) < TEN else ""
            yield _line(f"published: {label}", words[phrase], following, rest)
        for label, words in asked.items():
            yield _line(label, words[phrase], following)
        yield "</table></div>"


def _seed(state: RowState) -> str:
    return f", seed {state.entries[0]['seed']}" if len(state.entries) > 1 else ""


def _line(label: str, words: Sequence[tuple[str, float]], following: str, rest: str = "") -> str:
    shown = (_word(word, probability, word == following) for word, probability in words)
    return f"<tr><td>{escape(label)}</td><td class=text>{'&ensp; '.join(shown)}{rest}</td></tr>"


def _word(word: str, probability: float, follows: bool) -> str:
    text = f"{escape(word)}&nbsp;{probability:.2f}"
    return f"<b class=next>{text}</b>" if follows else text
