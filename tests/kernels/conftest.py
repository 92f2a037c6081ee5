"""The two forms of a kernel: compiled by numba, and in torch where there is no numba."""

from __future__ import annotations

import pytest
import torch

from wordtie.kernels import backend, products

needs_numba = pytest.mark.skipif(not backend.have_numba(), reason="numba is not installed")


@pytest.fixture(params=[pytest.param("numba", marks=needs_numba), "torch"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both forms, whether or not numba is there; and both libraries of products, whatever the processor."""
    if request.param == "torch":
        monkeypatch.setattr(backend, "have_numba", lambda: False)
    onednn = request.param == "numba" and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    monkeypatch.setattr(products, "onednn_is_faster", lambda: onednn)
    return str(request.param)
