"""Products in full precision, whatever the process that we are part of has asked of torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

FULL = "highest"


@contextmanager
def in_fp32(device: torch.device) -> Iterator[None]:
    """No autocast, and no TF32 on a GPU (`torch.set_float32_matmul_precision`); afterwards as it was."""
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision(FULL)
        with torch.autocast(device.type, enabled=False):
            yield
    finally:
        torch.set_float32_matmul_precision(before)
