"""Small VD-LSTM (the papers' baseline: untied head with a bias, cross-entropy, 200 units) against the naive step."""

from __future__ import annotations

from benchmarks.steps import Setup, claims
from wordtie.config import LossSettings, ModelSettings

CLAIMS = claims(
    "small-vd-lstm",
    "training step of small VD-LSTM without augmented loss, 200 units, against naive",
    Setup(ModelSettings(head="untied", hidden=200), LossSettings(kind="cross_entropy")),
    goal=3.0,
    fp32_goal=2.0,
)
