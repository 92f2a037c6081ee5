"""inan-2017, Table 4: the ten most likely next words of a phrase, as printed and as our models predict them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wordtie.reproduction.ledger.status import RowState
from wordtie.reproduction.papers.inan_2017_table_4 import PHRASES, PUBLISHED

TEN = 10
ILLEGIBLE = " … the rest is not legible in our copy of the paper"


@dataclass(frozen=True)
class Question:
    """A phrase, the word that follows it in the text, and what each model expects."""

    phrase: str
    following: str
    answers: Sequence[tuple[str, Sequence[tuple[str, float]], str]]
    """Each model's label, its words with their probabilities, and a remark or an empty string."""


def questions(rows: Sequence[RowState]) -> Iterator[Question]:
    """Yield each phrase with the published answers, and those of the rows that have any."""
    asked: dict[str, Any] = {
        f"ours: {state.row.label}{_seed(state)}": state.entries[0]["measures"]["predictions"]
        for state in rows
        if state.row.kind == "train" and state.entries and "predictions" in state.entries[0].get("measures", {})
    }
    for phrase, following in PHRASES.items():
        published = [
            (f"published: {label}", words[phrase], "" if len(words[phrase]) == TEN else ILLEGIBLE)
            for label, words in PUBLISHED.items()
        ]
        yield Question(phrase, following, [*published, *((label, words[phrase], "") for label, words in asked.items())])


def _seed(state: RowState) -> str:
    return f", seed {state.entries[0]['seed']}" if len(state.entries) > 1 else ""
