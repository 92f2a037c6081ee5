"""inan-2017, Table 4: phrases of the PTB test text, the word that follows, and what two large models predicted."""

from __future__ import annotations

PHRASES = {
    "information international said it believes that the complaints filed in": "federal",
    "oil company refineries ran flat out to prepare for a robust holiday driving season in july and": "august",
    "southmark said it plans to <unk> its <unk> to provide financial results as soon as its audit is": "completed",
    "merieux said the government 's minister of industry science and": "technology",
}
"""Each phrase, and the word that follows."""
_PRINTED = {
    "VD-LSTM, large": (
        "the 0.27 a 0.13 federal 0.13 N 0.09 <unk> 0.05 an 0.03 august 0.01 new 0.01 response 0.01 connection 0.01",
        "the 0.09 N 0.08 a 0.07 <unk> 0.07 was 0.04 in 0.03 has 0.03 is 0.02 will 0.02 its 0.02",
        "the 0.06 <unk> 0.05 a 0.05 in 0.04 n't 0.04 to 0.03 likely 0.03 expected 0.03 scheduled 0.01 completed 0.01",
        "<unk> 0.33 the 0.06 a 0.01 other 0.01 others 0.01 industry 0.01 commerce 0.01 planning 0.01 management 0.01 "
        "mail 0.01",
    ),
    "VD-LSTM + REAL, large": (
        "federal 0.22 the 0.1 a 0.08 N 0.06 state 0.04",
        "august 0.08 N 0.05 early 0.05 september 0.05 the 0.03 a 0.03 in 0.03 that 0.02 ended 0.02 its 0.02",
        "expected 0.1 completed 0.04 <unk> 0.03 the 0.03 in 0.03 a 0.03 scheduled 0.03 n't 0.03 due 0.02 to 0.01",
        "<unk> 0.09 health 0.08 development 0.04 the 0.04 a 0.03 industry 0.03 business 0.02 telecomm. 0.02 human 0.02 "
        "other 0.01",
    ),
}
"""Printed words by model, one line per phrase; half of REAL's first line is not legible in our copy."""


def _pairs(line: str) -> list[tuple[str, float]]:
    parts = line.split()
    return [(word, float(probability)) for word, probability in zip(parts[::2], parts[1::2], strict=True)]


PUBLISHED: dict[str, dict[str, list[tuple[str, float]]]] = {
    label: {phrase: _pairs(line) for phrase, line in zip(PHRASES, lines, strict=True)}
    for label, lines in _PRINTED.items()
}
"""The ten most likely words with their probabilities, most likely first, by model and phrase."""
