"""Adam on the rows that a sparse gradient has, against its equations, and beside dense gradients."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from wordtie.training.row_adam import RowAdam

ROWS, SIZE = 5, 3


def sparse(rows: list[int], values: torch.Tensor) -> torch.Tensor:
    return torch.sparse_coo_tensor(torch.tensor([rows]), values, (ROWS, SIZE), check_invariants=True)


def test_rows_move_by_their_own_squares_and_the_others_stay() -> None:
    """Four windows, one of which names a row twice: its gradients are added up."""
    torch.manual_seed(1)
    windows = [([0, 3], torch.randn(2, SIZE)), ([3, 3, 1], torch.randn(3, SIZE)), ([3], torch.randn(1, SIZE)),
               ([0], torch.randn(1, SIZE))]  # fmt: skip
    matrix = nn.Parameter(torch.randn(ROWS, SIZE))
    expected, squares = matrix.tolist(), [[0.0] * SIZE for _ in range(ROWS)]
    optimiser = RowAdam([matrix], lr=0.1, betas=(0.9, 0.99), fused=True)
    for step, (rows, values) in enumerate(windows, 1):
        matrix.grad = sparse(rows, values)
        optimiser.step()
        for row in set(rows):
            for column in range(SIZE):
                g = sum(float(values[n, column]) for n, other in enumerate(rows) if other == row)
                v = 0.99 * squares[row][column] + 0.01 * g * g
                squares[row][column] = v
                expected[row][column] -= 0.1 * g / (math.sqrt(v / (1 - 0.99**step)) + 1e-8)
    torch.testing.assert_close(matrix.detach(), torch.tensor(expected))
    assert set(optimiser.state[matrix]) == {"step", "exp_avg_sq"}


def test_dense_gradients_take_adams_step_to_the_bit() -> None:
    torch.manual_seed(2)
    start, gradients = torch.randn(ROWS, SIZE), torch.randn(4, ROWS, SIZE)
    ends = []
    for kind in (RowAdam, torch.optim.Adam):
        parameter = nn.Parameter(start.clone())
        optimiser = kind([parameter], lr=0.1, fused=True)
        for gradient in gradients:
            parameter.grad = gradient.clone()
            optimiser.step()
        ends.append(parameter.detach())
    assert torch.equal(*ends)


@pytest.mark.parametrize("first", ["dense", "sparse"])
def test_a_matrix_may_have_either_kind_of_gradient(first: str) -> None:
    """One that was sparse so far starts its mean gradient from zero, and keeps its squares and its count."""
    torch.manual_seed(3)
    matrix, bias = nn.Parameter(torch.randn(ROWS, SIZE)), nn.Parameter(torch.randn(ROWS))
    optimiser = RowAdam([matrix, bias], lr=0.1, fused=True)
    kinds = [first, "sparse", "dense", "sparse"]
    squares = torch.zeros(ROWS, SIZE)
    for kind in kinds:
        before = matrix.detach().clone()
        values = torch.randn(2, SIZE)
        matrix.grad = sparse([1, 4], values) if kind == "sparse" else sparse([1, 4], values).to_dense()
        bias.grad = torch.randn(ROWS)
        optimiser.step()
        moved = (matrix != before).any(1)
        assert moved[[1, 4]].all()
        decayed = squares if kind == "dense" else squares[[1, 4]]  # a sparse step leaves the squares of other rows
        decayed = decayed * 0.999
        if kind == "dense":
            squares = decayed
            squares[[1, 4]] += 0.001 * values**2
        else:
            squares[[1, 4]] = decayed + 0.001 * values**2
        torch.testing.assert_close(optimiser.state[matrix]["exp_avg_sq"], squares)
    assert float(optimiser.state[matrix]["step"]) == float(optimiser.state[bias]["step"]) == len(kinds)


def test_goes_on_from_its_saved_state_to_the_bit() -> None:
    torch.manual_seed(4)
    start, values = torch.randn(ROWS, SIZE), torch.randn(6, 2, SIZE)
    whole, parts = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    optimiser = RowAdam([whole], lr=0.1, fused=True)
    for gradient in values:
        whole.grad = sparse([0, 2], gradient)
        optimiser.step()
    halves = RowAdam([parts], lr=0.1, fused=True)
    for number, gradient in enumerate(values):
        if number == 3:
            saved = halves.state_dict()
            halves = RowAdam([parts], lr=0.1, fused=True)
            halves.load_state_dict(saved)
        parts.grad = sparse([0, 2], gradient)
        halves.step()
    assert torch.equal(whole, parts)
