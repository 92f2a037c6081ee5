"""What else a row measures of its trained model, beside perplexity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from wordtie.uses.open_run import load

PHRASES = {
    "information international said it believes that the complaints filed in": "federal",
    "oil company refineries ran flat out to prepare for a robust holiday driving season in july and": "august",
    "southmark said it plans to <unk> its <unk> to provide financial results as soon as its audit is": "completed",
    "merieux said the government 's minister of industry science and": "technology",
}
"""inan-2017, Table 4: phrases of the PTB test text, and the word that follows."""


def predictions(folder: Path) -> dict[str, list[list[Any]]]:
    """The ten likeliest next words of each phrase of inan-2017's Table 4, with their probabilities."""
    model = load(folder)
    return {
        phrase: [[word, round(float(probability), 6)] for word, probability in model.predict(phrase, top=10)]
        for phrase in PHRASES
    }


MEASURES: Mapping[str, Callable[[Path], Any]] = {"predictions": predictions}
"""By the names that rows use; what they return goes into the ledger as it is, so it must be plain JSON."""
