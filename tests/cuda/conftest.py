"""What runs on a GPU alone. These tests are skipped without one."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(autouse=True)
def gpu() -> torch.device:
    """The GPU that the tests use."""
    if not torch.cuda.is_available():
        pytest.skip("no CUDA GPU at hand")
    return torch.device("cuda")
