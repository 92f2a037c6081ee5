"""Small REAL (tied head, augmented loss, 200 units), a whole training step, against the naive one."""

from __future__ import annotations

from benchmarks.steps import Setup, claims
from wordtie.config import LossSettings, ModelSettings

SETUP = Setup(ModelSettings(hidden=200), LossSettings(kind="augmented"))
CLAIMS = claims(
    "small-real",
    "training step of small REAL, 200 units, against naive",
    SETUP,
    goal=6.0,
    fp32_goal=2.5,
)
