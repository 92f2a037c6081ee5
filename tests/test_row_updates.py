"""The updates that benchmarks/row_updates.py compares, against `RowAdam` and against `torch.optim.Adam`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from benchmarks import row_updates
from benchmarks.row_updates import COLUMNS, RATES, UPDATES, decayed, one_square_a_row, replaced
from wordtie.config import DataSettings
from wordtie.training.row_adam import RowAdam

V, E, STEPS = 7, 3, 5
Make = Callable[[nn.Parameter], torch.optim.Optimizer]


def gradients() -> Iterator[tuple[Tensor, Tensor]]:
    """(rows, their gradients), some rows in several steps."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(STEPS):
        yield torch.randperm(V, generator=generator)[:3], torch.randn(3, E, generator=generator)


def after(make: Make, sparse: bool = True) -> Tensor:
    """A matrix after the steps."""
    matrix_VE = nn.Parameter(torch.zeros(V, E))
    optimiser = make(matrix_VE)
    for rows, values in gradients():
        grad = torch.sparse_coo_tensor(rows[None], values, (V, E), check_invariants=True)
        matrix_VE.grad = grad if sparse else grad.to_dense()
        optimiser.step()
    return matrix_VE.detach()


def as_row_adam(square_VE: Tensor, rows: Tensor, gradient_RE: Tensor, beta2: float) -> Tensor:
    return square_VE.index_select(0, rows).mul_(beta2).addcmul_(gradient_RE, gradient_RE, value=1 - beta2)


def row_adam(matrix_VE: nn.Parameter) -> torch.optim.Optimizer:
    return RowAdam([matrix_VE], lr=0.1, betas=(0.9, 0.99))


def test_with_its_own_squares_it_is_row_adam() -> None:
    expected = after(row_adam)
    with replaced(as_row_adam):
        assert torch.equal(after(row_adam), expected)
    for other in (decayed, one_square_a_row):
        with replaced(other):
            assert not torch.allclose(after(row_adam), expected)
    assert torch.equal(after(row_adam), expected), "it is itself again"


def test_squares_that_decay_are_those_of_dense_adam_without_a_mean() -> None:
    with replaced(decayed):
        found = after(row_adam)
    expected = after(lambda matrix: torch.optim.Adam([matrix], lr=0.1, betas=(0.0, 0.99)), sparse=False)
    torch.testing.assert_close(found, expected)


def test_each_update_is_trained_once_and_is_another(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, generator = own_folder / "rows.tsv", random.Random(1)
    weights = [1 / (number + 1) for number in range(5000)]  # so that most words are in few windows
    lines = (generator.choices(range(len(weights)), weights, k=10) for _ in range(3000))
    (own_folder / "text.txt").write_text("\n".join(" ".join(f"w{word}" for word in line) for line in lines))
    monkeypatch.setattr(row_updates, "TEXTS", {"tiny": lambda: DataSettings(corpus="text.txt")})
    row_updates.main(["tiny"], file, 20_000)
    rows = file.read_text()
    networks = [line.split("\t")[COLUMNS.index("network")] for line in rows.splitlines()[1:]]
    assert len(networks) == len(set(networks)) == len(UPDATES) * len(RATES) == 8
    row_updates.main(["tiny"], file, 20_000)
    assert file.read_text() == rows
