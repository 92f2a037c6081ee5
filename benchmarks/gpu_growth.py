"""Growth of the step's time with the vocabulary on a GPU, from 10,000 words to 267,735: reported, without a goal."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle

import torch

from benchmarks.gpu import on_card
from benchmarks.harness import Claim, Effort, Measurement, alternate, ratios, spread
from benchmarks.small_real import SETUP
from benchmarks.steps import Setup, fast_contender, windows_of

SMALL, LARGE = 10_000, 267_735


def measure(effort: Effort) -> Measurement:
    """How many times less than in proportion the time grows."""
    small = on_card(SETUP)

    def steps(setup: Setup) -> Callable[[], None]:
        step = fast_contender(setup, cycle(windows_of(setup)))

        def run() -> None:
            for _ in range(10):
                step()
            torch.cuda.synchronize()

        return run

    contenders = {"small": steps(small), "large": steps(replace(small, words=LARGE))}
    timings = alternate(contenders, effort.rounds)
    in_proportion = [LARGE / SMALL * each for each in timings["small"]]
    values = ratios(in_proportion, timings["large"])
    return Measurement(
        ratio=statistics.median(values),
        spread=spread(values),
        alternative=1e2 * statistics.median(in_proportion),
        ours=1e2 * statistics.median(timings["large"]),
        unit="ms",
        note=f"{1e2 * statistics.median(timings['small']):.1f} ms at V {SMALL:,}; {torch.cuda.get_device_name()}",
    )


CLAIMS = (Claim("gpu-growth", f"GPU: step of small REAL at V {LARGE:,}, against growth in proportion", None, measure),)
