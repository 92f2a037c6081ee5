"""Rows of the word matrix as a window draws them (Kong et al. 2019, equation 6).

A drawn row starts as the row of a word; single coordinates of it may come from other words, and the rows that are
read (not those that score) may have coordinates dropped:

    e~_ij = mask_ij * e_(source of ij) j

One autograd node makes the rows of both sides, so that the gradient of the matrix is summed in one place and costs
no more than that of a plain look-up. What is drawn is decided in `wordtie.noise.variational_smoothing`.

Shapes: V words, E embedding size, M drawn rows, K sides, T steps, B streams.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class RowDraw:
    """The words of each sequence, distinct or token by token, and what their rows are made of."""

    words_M: Tensor
    """The row of the word matrix that each starts from. Those of side 0 come first."""
    row_KTB: Tensor
    """Index of each token's row among the M."""
    first_side: int
    """Number of the M rows that belong to side 0."""
    places_R: Tensor | None = None
    """Coordinates that are replaced, as row * E + column, ascending and distinct. None: whole rows only."""
    sources_R: Tensor | None = None
    """The word that each of these coordinates comes from."""


def distinct_words(ids_KTB: Tensor, vocabulary_size: int) -> RowDraw:
    """Return one row for each distinct word of each sequence, with nothing replaced yet."""
    sides, _, streams = ids_KTB.shape
    sequence_K1B = torch.arange(sides * streams, device=ids_KTB.device).view(sides, 1, streams)
    keys_M, row_KTB = (ids_KTB + sequence_K1B * vocabulary_size).unique(return_inverse=True)
    first_side = int((keys_M < streams * vocabulary_size).sum())
    return RowDraw(keys_M % vocabulary_size, row_KTB, first_side)


def single_tokens(ids_KTB: Tensor) -> RowDraw:
    """Return one row for each token, with nothing replaced yet."""
    rows = torch.arange(ids_KTB.numel(), device=ids_KTB.device).view(ids_KTB.shape)
    return RowDraw(ids_KTB.flatten(), rows, ids_KTB[0].numel())


def every_word(vocabulary_size: int, device: torch.device) -> RowDraw:
    """Return one row for each word, as V steps of one stream, with nothing replaced yet."""
    words_V = torch.arange(vocabulary_size, device=device)
    return RowDraw(words_V, words_V[None, :, None], vocabulary_size)


class _DrawnRows(torch.autograd.Function):
    """Gather rows, then coordinates, and pass them to the tokens of each side; with the gradient."""

    @staticmethod
    def forward(ctx: Any, matrix_VE: Tensor, draw: RowDraw, mask_ME: Tensor | None, sparse: bool) -> tuple[Tensor, ...]:
        """Return the vectors, (T, B, E) for each of the K sides."""
        size = matrix_VE.shape[1]
        rows_ME = matrix_VE.index_select(0, draw.words_M)
        places_R, elements_R = draw.places_R, None
        if places_R is not None and draw.sources_R is not None:
            elements_R = draw.sources_R * size + places_R % size
            rows_ME.view(-1)[places_R] = matrix_VE.reshape(-1).index_select(0, elements_R)
        if mask_ME is not None:
            rows_ME[: len(mask_ME)] *= mask_ME
        ctx.save_for_backward(places_R, elements_R, mask_ME)
        ctx.draw, ctx.shape, ctx.sparse = draw, matrix_VE.shape, sparse
        return tuple(rows_ME.index_select(0, row_TB.flatten()).view(*row_TB.shape, size) for row_TB in draw.row_KTB)

    @staticmethod
    def backward(ctx: Any, *d_sides: Tensor) -> Any:
        """Return the gradient of the matrix; the other arguments have none."""
        places_R, elements_R, mask_ME = ctx.saved_tensors
        draw: RowDraw = ctx.draw
        size = ctx.shape[1]
        d_rows_ME = d_sides[0].new_zeros(len(draw.words_M), size)
        for row_TB, d_TBE in zip(draw.row_KTB, d_sides, strict=True):
            d_rows_ME.index_add_(0, row_TB.flatten(), d_TBE.reshape(-1, size))
        if mask_ME is not None:
            d_rows_ME[: len(mask_ME)] *= mask_ME
        words_M = draw.words_M
        if ctx.sparse:
            touched = words_M if elements_R is None else torch.cat([words_M, elements_R // size])
            words_U, place = touched.unique(return_inverse=True)
            words_M = place[: len(words_M)]
            if elements_R is not None:
                elements_R = place[len(words_M) :] * size + elements_R % size
            d_matrix = d_rows_ME.new_zeros(len(words_U), size)
        else:
            d_matrix = d_rows_ME.new_zeros(ctx.shape)
        if elements_R is not None:
            d_elements_R = d_rows_ME.view(-1).index_select(0, places_R)
            d_rows_ME.view(-1)[places_R] = 0
            d_matrix.view(-1).index_add_(0, elements_R, d_elements_R)
        d_matrix.index_add_(0, words_M, d_rows_ME)
        if ctx.sparse:
            d_matrix = torch.sparse_coo_tensor(
                words_U[None], d_matrix, ctx.shape, is_coalesced=True, check_invariants=False
            )
        return d_matrix, None, None, None


def drawn_rows(
    matrix_VE: Tensor, draw: RowDraw, mask_ME: Tensor | None = None, sparse: bool = False
) -> tuple[Tensor, ...]:
    """Return the vector of each token, (T, B, E) for each side. `mask_ME` multiplies as many first rows as it has.

    With `sparse` the gradient of the matrix is a sparse tensor of the rows that vectors were made from.
    """
    vectors: tuple[Tensor, ...] = _DrawnRows.apply(matrix_VE, draw, mask_ME, sparse)  # type: ignore[no-untyped-call]
    return vectors
