"""The compiled row work beside memory that lies near."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba")
numba_math = pytest.importorskip("wordtie.kernels.numba_math")
softmax_rows = pytest.importorskip("wordtie.kernels.softmax.row_kernels")

WORDS = (3, 5, 11, 20, 40)


@pytest.fixture(scope="module")
def token_row() -> Any:
    """One token's row at temperature 3, compiled as the kernels are, the blocks that it works in from outside."""

    def compute(row: Any, similar: Any, rest: Any, soft: Any, sharp: Any, bias: Any) -> Any:
        third, gamma, none = np.float32(1 / 3), np.float32(0.65), np.zeros(0, np.float32)
        return softmax_rows._token_row(
            row, bias, np.float32(0), 0, similar, rest, soft, sharp, third, gamma, gamma, none
        )

    return numba.njit(fastmath=numba_math.FASTMATH, error_model="numpy", nogil=True)(compute)


@pytest.mark.parametrize("words", WORDS)
def test_blocks_lie_far_enough_apart_for_the_same_bits(words: int, token_row: Any) -> None:
    """In any order: nearer than `_APART`, a small vocabulary's loop leaves the vectors and adds up otherwise."""
    scores = 3 * np.random.default_rng(0).standard_normal(words).astype(np.float32)
    found = set()
    for apart in (softmax_rows._APART, 1000):
        for order in permutations(range(4)):
            memory = np.zeros((words + apart) * 6, np.float32)
            row, similar, rest, soft, sharp, bias = (
                memory[place * (words + apart) :][:words] for place in (*order, 4, 5)
            )
            row[:] = scores
            similar[:] = np.exp(scores / 3)
            nats = token_row(row, similar, rest, soft, sharp, bias)
            found.add((nats, row.tobytes(), rest.tobytes()))
    assert len(found) == 1
