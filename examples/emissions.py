"""Made-up emissions of a speech recogniser: log-probabilities of characters, frame by frame, as CTC models give them.

They stand in for an acoustic model, so that the other examples run in seconds and without audio. This one hears badly:
it cannot tell `t` from `d`, `p` from `b`, `k` from `g`, `e` from `i`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BLANK = ""
LABELS = [BLANK, " ", "'", *"abcdefghijklmnopqrstuvwxyz"]
"""Label 0 is CTC's blank."""
CONFUSED = dict(zip("tdpbkgei", "dtbpgkie", strict=True))


def made_up_emissions(text: str, seed: int = 1) -> NDArray[np.float64]:
    """Log p of each label in each frame, (T, C): two frames a character, then a blank."""
    draw = np.random.default_rng(seed)
    frames = []
    for character in text:
        p_C = draw.uniform(0.0, 0.002, len(LABELS))
        share = draw.uniform(0.35, 0.6) if character in CONFUSED else 1.0
        p_C[LABELS.index(character)] += share
        if character in CONFUSED:
            p_C[LABELS.index(CONFUSED[character])] += 1 - share
        blank_C = draw.uniform(0.0, 0.002, len(LABELS))
        blank_C[0] += 1.0
        frames += [p_C, p_C, blank_C]
    p_TC = np.array(frames)
    return np.log(p_TC / p_TC.sum(1, keepdims=True))


def greedy(log_p_TC: NDArray[np.float64]) -> str:
    """What is heard without a language model: the likeliest label of each frame, repeats and blanks left out."""
    best = [LABELS[number] for number in log_p_TC.argmax(1)]
    return "".join(label for label, before in zip(best, [BLANK, *best], strict=False) if label not in (before, BLANK))
