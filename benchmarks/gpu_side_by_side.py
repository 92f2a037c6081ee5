"""Four small models trained side by side on one GPU: words a second of all, against one alone."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from itertools import cycle

import torch

from benchmarks.gpu import on_card
from benchmarks.harness import Claim, Effort, Measurement, alternate, spread
from benchmarks.small_real import SETUP
from benchmarks.steps import fast_contender, windows_of

MODELS = 4
STEPS = 50


def measure(effort: Effort) -> Measurement:
    """Each model on a CUDA stream of its own, a step of each in turn."""
    setup = on_card(SETUP)
    streams = [torch.cuda.Stream() for _ in range(MODELS)]
    models = [fast_contender(setup, cycle(windows_of(setup))) for _ in range(MODELS)]

    def train(number: int) -> Callable[[], None]:
        def run() -> None:
            for _ in range(STEPS):
                for stream, step in zip(streams[:number], models[:number], strict=True):
                    with torch.cuda.stream(stream):
                        step()
            torch.cuda.synchronize()

        return run

    timings = alternate({"one": train(1), "all": train(MODELS)}, effort.rounds)
    values = [MODELS * one / several for one, several in zip(timings["one"], timings["all"], strict=True)]
    words = STEPS * setup.training.streams * setup.training.steps
    return Measurement(
        ratio=statistics.median(values),
        spread=spread(values),
        alternative=words / statistics.median(timings["one"]),
        ours=MODELS * words / statistics.median(timings["all"]),
        unit="words/s",
        note=torch.cuda.get_device_name(),
    )


CLAIMS = (Claim("gpu-side-by-side", "GPU: words/s of four small models side by side, against one", 2.5, measure),)
