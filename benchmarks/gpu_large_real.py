"""Large REAL (1,500 units) on a GPU: a training step against naive eager on the same card, and an epoch of PTB."""

from __future__ import annotations

import statistics
from itertools import cycle

import torch

from benchmarks.gpu import on_card
from benchmarks.harness import Claim, Effort, Measurement, alternate, spread
from benchmarks.steps import Setup, against_naive, fast_contender, windows_of
from wordtie.config import LossSettings, ModelSettings

SETUP = Setup(ModelSettings(hidden=1500, input_dropout=0.65, hidden_dropout=0.65), LossSettings(kind="augmented"))
PTB_TOKENS = 929_589
GOAL_EPOCH = 6.0
"""Seconds, on an H200-class card."""


def measure_epoch(effort: Effort) -> Measurement:
    """The goal's seconds over those of the steps of one epoch."""
    setup = on_card(SETUP)
    step = fast_contender(setup, cycle(windows_of(setup)))
    per_window = setup.training.streams * setup.training.steps
    steps = -(-PTB_TOKENS // per_window)

    def hundred() -> None:
        for _ in range(100):
            step()
        torch.cuda.synchronize()

    seconds = [each / 100 * steps for each in alternate({"ours": hundred}, effort.rounds, warm_up=1)["ours"]]
    values = [GOAL_EPOCH / each for each in seconds]
    return Measurement(
        ratio=statistics.median(values),
        spread=spread(values),
        alternative=GOAL_EPOCH,
        ours=statistics.median(seconds),
        unit="s",
        note=f"{steps:,} steps on {torch.cuda.get_device_name()}",
    )


CLAIMS = (
    Claim(
        "gpu-large-real",
        "GPU: training step of large REAL, 1,500 units, against naive eager",
        8.0,
        lambda effort: against_naive(on_card(SETUP), effort),
    ),
    Claim("gpu-large-epoch", "GPU: epoch of PTB of large REAL, against 6 s", 1.0, measure_epoch),
)
