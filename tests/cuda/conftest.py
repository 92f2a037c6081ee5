"""What runs on a GPU alone. These tests are skipped without one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from wordtie.kernels import cuda_graphs


@pytest.fixture(autouse=True)
def gpu() -> torch.device:
    """The GPU that the tests use."""
    if not torch.cuda.is_available():
        pytest.skip("no CUDA GPU at hand")
    return torch.device("cuda")


@pytest.fixture(autouse=True)
def nothing_recorded() -> Iterator[None]:
    """Each test starts without recordings."""
    cuda_graphs.forget()
    yield
    cuda_graphs.forget()
