"""What the GPU's claims share: the card, or why there is none."""

from __future__ import annotations

from dataclasses import replace

import torch

from benchmarks.harness import UnavailableError
from benchmarks.steps import Setup


def on_card(setup: Setup) -> Setup:
    """The same step on the GPU. Raises `UnavailableError` where there is none."""
    if not torch.cuda.is_available():
        raise UnavailableError("needs a CUDA GPU")
    return replace(setup, device="cuda")
