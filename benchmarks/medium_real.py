"""Medium REAL (tied head, augmented loss, 650 units), a whole training step, against the naive one."""

from __future__ import annotations

from benchmarks.steps import Setup, claims
from wordtie.config import LossSettings, ModelSettings

CLAIMS = claims(
    "medium-real",
    "training step of medium REAL, 650 units, against naive",
    Setup(ModelSettings(hidden=650, input_dropout=0.5, hidden_dropout=0.5), LossSettings(kind="augmented")),
    goal=4.0,
    fp32_goal=2.0,
)
