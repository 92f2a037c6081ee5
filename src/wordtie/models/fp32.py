"""Products in full precision, whatever the process that we are part of has asked of torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

FULL = "highest"


@contextmanager
def in_fp32(device: torch.device) -> Iterator[None]:
    """No autocast, no TF32 on a GPU and no bf16 on a CPU; afterwards as it was.

    torch has one switch for all products (`torch.set_float32_matmul_precision`) and, since 2.9, one for each kind of
    device, which the first one sets and which it cannot tell of where they differ.
    """
    of_each: list[Any] = [torch.backends.cuda.matmul, getattr(torch.backends.mkldnn, "matmul", None)]
    apart = [(each, each.fp32_precision) for each in of_each if hasattr(each, "fp32_precision")]
    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError:
        before = FULL
    try:
        torch.set_float32_matmul_precision(FULL)
        with torch.autocast(device.type, enabled=False):
            yield
    finally:
        torch.set_float32_matmul_precision(before)
        for each, precision in apart:
            each.fp32_precision = precision
