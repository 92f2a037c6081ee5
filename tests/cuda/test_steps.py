"""The recurrence as a GPU computes it, again and again with other numbers, against plain torch on the same GPU."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.cuda.test_graphs import recorded
from wordtie.kernels.cuda_graphs import OFTEN
from wordtie.kernels.lstm import steps_torch
from wordtie.kernels.lstm.steps_cuda import FEWEST_STEPS, Steps, loops

STEPS, STREAMS, UNITS = FEWEST_STEPS + 1, 3, 90
Operands = list[Tensor | None]


class Draws:
    """Numbers that differ from one call to the next, on one device and in one dtype."""

    def __init__(self, seed: int, device: str, dtype: torch.dtype) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.device, self.dtype = device, dtype

    def __call__(self, *shape: int) -> Tensor:
        drawn = torch.randn(shape, generator=self.generator, dtype=torch.float64)
        return drawn.to(self.device, self.dtype)

    def mask(self, *shape: int) -> Tensor:
        return (self(*shape) > 0) * self(1).exp()


def forward(draws: Draws, dropped: bool, steps: int) -> Operands:
    here = STREAMS, UNITS
    cells, masked = draws(steps + 1, *here), draws(steps + 1, *here)
    gates, weight, mask = draws(steps, STREAMS, 4 * UNITS), 0.1 * draws(4 * UNITS, UNITS), draws.mask(*here)
    candidates = draws.mask(steps, *here) if dropped else None
    return [gates, weight, mask, candidates, cells, draws(steps, *here), draws(steps, *here), masked]


def backward(draws: Draws, done: Operands) -> Operands:
    gates, weight, mask, dropped, cells, squashed, *_ = done
    assert gates is not None
    here = STREAMS, UNITS
    start = torch.zeros_like(draws(*here))
    return [
        draws(len(gates), *here),
        start,
        draws(*here),
        gates,
        weight,
        mask,
        dropped,
        cells,
        squashed,
        draws(*gates.shape),
    ]


def copies(operands: Operands) -> Operands:
    return [None if each is None else each.clone() for each in operands]


def assert_same(ours: Operands, expected: Operands, tolerance: float) -> None:
    for one, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("steps", [STEPS, FEWEST_STEPS - 1])
@pytest.mark.parametrize("dropped", [False, True], ids=["whole", "candidates dropped"])
@pytest.mark.parametrize(
    ("dtype", "precision", "tolerance"),
    [
        (torch.float32, torch.float32, 1e-4),
        (torch.float64, torch.float64, 1e-10),
        (torch.float32, torch.bfloat16, 0.02),
    ],
    ids=["float32", "float64", "TF32"],
)
def test_each_call_is_that_of_torch(
    dtype: torch.dtype, precision: torch.dtype, tolerance: float, dropped: bool, steps: int
) -> None:
    for seed in range(OFTEN + 4):
        draws = Draws(seed, "cuda", dtype)
        ours = forward(draws, dropped, steps)
        expected = copies(ours)
        Steps(precision).forward(*ours)  # type: ignore[arg-type]
        steps_torch.forward(*expected)  # type: ignore[arg-type]
        assert_same(ours, expected, tolerance)
        ours = backward(draws, expected)
        expected = copies(ours)
        Steps(precision).backward(*ours)  # type: ignore[arg-type]
        steps_torch.backward(*expected)  # type: ignore[arg-type]
        assert_same(ours, expected, 10 * tolerance)
    assert recorded() == (2 if steps >= FEWEST_STEPS else 0)


def test_other_dtypes_are_torchs() -> None:
    assert loops(torch.device("cuda"), torch.bfloat16) is steps_torch


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU alone")
def test_another_gpu_than_the_current_one() -> None:
    for seed in range(OFTEN + 4):
        ours = forward(Draws(seed, "cuda:1", torch.float32), True, STEPS)
        expected = copies(ours)
        Steps(torch.float32).forward(*ours)  # type: ignore[arg-type]
        steps_torch.forward(*expected)  # type: ignore[arg-type]
        assert_same(ours, expected, 1e-4)
