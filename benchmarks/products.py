"""A training step in float32 whose products are oneDNN's, against the same step with torch's own, which are MKL's.

On a processor where MKL serves (`wordtie.kernels.products`), both are the same. The model is the recipe of
`wordtie train --time 10m`: a tied LSTM of 400 units with vectors of 200, 64 streams of 32 steps, Adam. Its softmax is
sampled, and full at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import cycle
from unittest import mock

import torch

from benchmarks.harness import Claim, Effort, MatrixProbe, Measurement, compare
from benchmarks.steps import ROUNDS, Setup, fast_contender, memory_as_in_training, windows_of
from wordtie.config import LossSettings, ModelSettings, TrainingSettings
from wordtie.kernels import products

FULL = Setup(
    ModelSettings(head="tied_linear", hidden=400, embedding=200, layers=1, input_dropout=0.2, hidden_dropout=0.2),
    LossSettings(kind="cross_entropy"),
    TrainingSettings(optimiser="adam", lr=0.003, clip=32.0, streams=64, steps=32, precision="fp32"),
)
SETUPS = {"sampled": replace(FULL, loss=LossSettings(kind="cross_entropy", softmax="sampled")), "full": FULL}


def by_torch(step: Callable[[], object]) -> object:
    """The step with torch's own products."""
    with mock.patch.object(products, "onednn_is_faster", return_value=False):
        return step()


def measure(softmax: str, effort: Effort) -> Measurement:
    """One step, whose products are by either library in turn."""
    setup = SETUPS[softmax]
    step = fast_contender(setup, cycle(windows_of(setup)))
    with memory_as_in_training():
        found = compare(
            alternative=partial(by_torch, step),
            ours=step,
            multiply_adds=None,
            probe=MatrixProbe(torch.float32),
            rounds=effort.rounds if effort.quick else ROUNDS * effort.rounds,
        )
    tokens = setup.training.streams * setup.training.steps
    note = f"{tokens / found.ours * 1e3:,.0f} words/s, alternative {tokens / found.alternative * 1e3:,.0f}"
    return replace(found, note=note if products.onednn_is_faster() else "MKL serves both: oneDNN is not faster here")


CLAIMS = tuple(
    Claim(
        f"products-{softmax}",
        f"training step in float32, 400 units, {softmax} softmax, products of oneDNN where it is faster, against MKL's",
        None,
        partial(measure, softmax),
    )
    for softmax in SETUPS
)
