"""Where a training step's time goes, by torch's profiler: what the floor counts, and what it does not.

Only the calling thread is looked at; the others work while it waits for them, within the same part.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from torch.autograd.profiler import profile

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler tells on stderr when it starts and stops
STEPS = 10
PARTS = {
    "aten::mm": "products",
    "aten::addmm": "products",
    "aten::addmm_": "products",
    "mkldnn::_linear_pointwise": "products",
    "LSTMLayerFunction": "recurrence",
    "LSTMLayerFunctionBackward": "recurrence",
    "SoftmaxLossFunction": "softmax",
}
"""By the name of an operation, counted without those that it calls; all others are the rest."""


def shares(step: Callable[[], object], steps: int = STEPS) -> dict[str, float]:
    """Of the step's time: `products`, `recurrence` (the loop over time), `softmax` (of the rows), `rest`; sum 1."""
    with profile(use_kineto=False) as profiled:
        for _ in range(steps):
            step()
    found = dict.fromkeys((*PARTS.values(), "rest"), 0.0)
    for event in profiled.key_averages():
        found[PARTS.get(event.key, "rest")] += event.self_cpu_time_total
    whole = sum(found.values())
    return {part: time / whole for part, time in found.items()}


def sentence(found: dict[str, float]) -> str:
    """In a few words.

    >>> sentence({"products": 0.5, "recurrence": 0.25, "softmax": 0.15, "rest": 0.1})
    '50 % products, 25 % recurrence, 15 % softmax, 10 % rest'
    """
    return ", ".join(f"{share:.0%}".replace("%", " %") + f" {part}" for part, share in found.items())
