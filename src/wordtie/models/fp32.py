"""Matrix products in full precision, whatever precision the process has set in torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from wordtie.kernels.products import FULL, products_in


@contextmanager
def in_fp32(device: torch.device) -> Iterator[None]:
    """Disable autocast, TF32 on a GPU and bf16 on a CPU; restore the settings afterwards."""
    with products_in(FULL), torch.autocast(device.type, enabled=False):
        yield
