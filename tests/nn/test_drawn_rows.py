"""Drawn rows and drawn targets against the literal window, values and gradients."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.reference.variational_smoothing import Masks, Sources, window_loss
from wordtie.losses.loss import CrossEntropy
from wordtie.nn.drawn_rows import RowDraw, distinct_words, drawn_rows
from wordtie.nn.dropout import element_mask
from wordtie.noise.proposals import Proposal
from wordtie.noise.variational_smoothing import smooth_elements, smooth_words

SHAPES = {"smallest": (1, 1, 2, 1), "odd": (5, 3, 7, 3), "one stream": (4, 1, 3, 2), "one step": (1, 4, 5, 5)}
"""T steps, B streams, V words, E embedding size."""


def draw(shape: tuple[int, int, int, int], elementwise: bool) -> tuple[Tensor, RowDraw]:
    steps, streams, words, size = shape
    ids_2TB = torch.randint(words, (2, steps, streams))
    proposal = Proposal.from_weights(np.linspace(0.2, 0.9, words), np.ones(words))
    rows = distinct_words(ids_2TB, words)
    return ids_2TB, smooth_elements(rows, proposal, size) if elementwise else smooth_words(rows, proposal)


def spelled(ids_2TB: Tensor, rows: RowDraw, size: int, mask_ME: Tensor) -> tuple[Sources, Sources, Masks]:
    """The draw as the reference takes it."""
    source_ME = rows.words_M[:, None].repeat(1, size)
    if rows.places_R is not None and rows.sources_R is not None:
        source_ME.view(-1)[rows.places_R] = rows.sources_R
    tables: list[dict[tuple[int, int], Any]] = [{}, {}, {}]
    for side, step, stream in np.ndindex(*ids_2TB.shape):
        key, row = (stream, int(ids_2TB[side, step, stream])), int(rows.row_KTB[side, step, stream])
        tables[side][key] = source_ME[row].tolist()
        if side == 0:
            tables[2][key] = mask_ME[row].tolist()
    return tables[0], tables[1], tables[2]


@pytest.mark.parametrize("elementwise", [False, True])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_equals_the_literal_window(shape: tuple[int, int, int, int], elementwise: bool) -> None:
    torch.manual_seed(1)
    words, size = shape[2:]
    ids_2TB, rows = draw(shape, elementwise)
    base = torch.randn(words, size, dtype=torch.float64, requires_grad=True)
    between = torch.randn(size, size, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(words, dtype=torch.float64)
    mask_ME = element_mask(rows.first_side, size, 0.4, base)

    vectors = drawn_rows(base, rows, mask_ME)
    query_NE = torch.tanh(vectors[0].flatten(0, 1) @ between.T)
    loss = CrossEntropy()(query_NE, base, bias, ids_2TB[1].flatten(), base, vectors[1].flatten(0, 1)).total
    read, written, masks = spelled(ids_2TB, rows, size, mask_ME)
    inputs, targets = ids_2TB.tolist()
    expected = window_loss(base, between, inputs, targets, read, written, masks, bias.tolist())
    torch.testing.assert_close(loss, expected)
    for ours, theirs in zip(
        torch.autograd.grad(loss, [base, between]), torch.autograd.grad(expected, [base, between]), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("elementwise", [False, True])
def test_gradient(elementwise: bool, masked: bool) -> None:
    torch.manual_seed(2)
    _, rows = draw((3, 2, 5, 4), elementwise)
    base = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    mask_ME = element_mask(rows.first_side, 4, 0.3, base) if masked else None
    assert torch.autograd.gradcheck(lambda matrix: drawn_rows(matrix, rows, mask_ME), (base,))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("elementwise", [False, True])
def test_a_sparse_gradient_has_the_rows_that_were_drawn_and_the_same_numbers(elementwise: bool, masked: bool) -> None:
    torch.manual_seed(2)
    words, size = 50, 4
    _, rows = draw((3, 2, words, size), elementwise)
    base = torch.randn(words, size, requires_grad=True)
    mask_ME = element_mask(rows.first_side, size, 0.3, base) if masked else None
    weight = torch.randn(2, 3, 2, size)
    dense, sparse = (
        torch.autograd.grad((torch.stack(drawn_rows(base, rows, mask_ME, sparse)) * weight).sum(), base)[0]
        for sparse in (False, True)
    )
    used = set(rows.words_M.tolist()) | set([] if rows.sources_R is None else rows.sources_R.tolist())
    assert sparse.is_coalesced()
    assert set(sparse.indices()[0].tolist()) == used
    assert len(used) < words
    torch.testing.assert_close(sparse.to_dense(), dense)


def test_without_noise_it_is_a_look_up() -> None:
    ids = torch.randint(6, (2, 4, 3))
    base = torch.randn(6, 5)
    assert torch.equal(torch.stack(drawn_rows(base, distinct_words(ids, 6))), base[ids])


def test_the_mask_drops_at_its_rate_and_has_mean_one() -> None:
    torch.manual_seed(3)
    mask = element_mask(999, 333, 0.7, torch.empty(0))
    count = 999 * 333
    dropped = int((mask == 0).sum())
    assert abs(dropped - 0.7 * count) < 4 * (0.21 * count) ** 0.5
    assert mask[mask > 0].unique().tolist() == pytest.approx([1 / 0.3], rel=1e-4)
    assert float(mask.mean()) == pytest.approx(1, abs=0.02)


def test_a_mask_of_nothing() -> None:
    assert (element_mask(3, 3, 0.0, torch.empty(0)) == 1).all()
    assert element_mask(0, 3, 0.5, torch.empty(0)).shape == (0, 3)
