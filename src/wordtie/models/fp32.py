"""Matrix products in full precision, whatever precision the process has set in torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

FULL = "highest"


@contextmanager
def in_fp32(device: torch.device) -> Iterator[None]:
    """Disable autocast, TF32 on a GPU and bf16 on a CPU; restore the settings afterwards.

    torch has one switch for all products (`torch.set_float32_matmul_precision`) and, since 2.9, one for each kind of
    device; setting the first one sets these, but reading it fails if they differ.
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
