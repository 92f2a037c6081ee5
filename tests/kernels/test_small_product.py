"""The product of few rows inside a compiled function: every height of tile, and what a row gives on its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("numba", reason="numba is not installed")

from wordtie.kernels.lstm.small_product import HEIGHT, WIDTH, add_product, panels
from wordtie.kernels.numba_math import compiled


@compiled
def _product(rows: Any, cut: Any, target: Any, begin: Any, end: Any) -> None:
    add_product(rows, cut, target, begin, end, np.empty((HEIGHT, WIDTH), np.float32))


def product(rows: torch.Tensor, matrix: torch.Tensor, target: torch.Tensor, begin: int, end: int) -> torch.Tensor:
    found = target.clone()
    _product(rows.numpy(), panels(matrix).numpy(), found.numpy(), begin, end)
    return found


@pytest.mark.parametrize("columns", [1, 2 * WIDTH, 2 * WIDTH + 3])
@pytest.mark.parametrize("count", range(1, 22))
def test_rows_between(count: int, columns: int) -> None:
    """Added to what is there, and to nothing beside it; bit for bit as if each row stood alone."""
    generator = torch.Generator().manual_seed(count)
    rows, matrix, target = (
        torch.randn(shape, generator=generator) for shape in ((count + 2, 37), (37, columns), (count + 2, columns))
    )
    found = product(rows, matrix, target, 1, count + 1)
    expected = target + rows @ matrix
    expected[0], expected[-1] = target[0], target[-1]
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert torch.equal(found[[0, -1]], target[[0, -1]])
    for row in range(1, count + 1):
        assert torch.equal(product(rows, matrix, target, row, row + 1)[row], found[row])
