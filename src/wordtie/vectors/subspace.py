"""How far apart are the spaces that two word matrices span? (inan-2017, appendix B)

With U and V orthonormal bases of the column spaces of X and Y, and C columns in V,

    d^2 = 1/C * |V - U U^T V|^2 = 1/C * (C - |U^T V|^2) = 1/C * sum_i sin^2(theta_i)

where theta_i are the principal angles (Björck & Golub 1973). d is 0 if the spaces are equal and 1 if they are
orthogonal; for unrelated matrices of E columns over V words it is about sqrt(1 - E / V).

The paper takes both ranks to be the same. Here the columns that depend on others are left out, and C is the larger of
the two ranks, so that d is symmetric, and 0 for equal spaces alone, whatever the ranks. The residual is formed, not
the difference C - |U^T V|^2, which would lose half the digits where the spaces are close.

Shapes: V words, E and F vector sizes, K and L ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordtie.errors import DataError
from wordtie.vectors.word_vectors import WordVectors

Doubles: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Subspaces:
    """Two column spaces compared."""

    distance: float
    """d, in [0, 1]."""
    ranks: tuple[int, int]
    """Dimensions of the first and of the second space."""
    angles: Doubles
    """Principal angles, smallest first, in radians: as many as the smaller rank."""
    outside: float
    """Norm of the part of the second matrix outside the space of the first, as a share of its norm. Here, directions
    count by how much of the matrix lies along them; in d, all count the same."""


def compare_subspaces(first_VE: NDArray[Any], second_VF: NDArray[Any]) -> Subspaces:
    """Compare the column spaces of two matrices whose rows are the same words in the same order.

    Raises `DataError` for matrices of different heights, without a space of their own (all zeros), or not finite.

    >>> x, others = np.eye(3)[:, :1], (5 * np.eye(3)[:, :1], np.eye(3)[:, 1:2], np.ones((3, 1)))
    >>> [round(compare_subspaces(x, y).distance ** 2, 6) for y in others]
    [0.0, 1.0, 0.666667]
    """
    if len(first_VE) != len(second_VF):
        raise DataError(f"the matrices have {len(first_VE)} and {len(second_VF)} rows: they must be of the same words")
    first, second = orthonormal_basis(first_VE), orthonormal_basis(second_VF)
    ranks = (first.shape[1], second.shape[1])
    smaller, larger = (first, second) if ranks[0] <= ranks[1] else (second, first)
    cosine_KL = smaller.T @ larger
    residual = larger - smaller @ cosine_KL
    distance = float(np.linalg.norm(residual)) / max(ranks) ** 0.5
    whole = np.asarray(second_VF, np.float64)
    outside = float(np.linalg.norm(whole - first @ (first.T @ whole)) / np.linalg.norm(whole))
    return Subspaces(min(distance, 1.0), ranks, _angles(smaller, larger, cosine_KL), min(outside, 1.0))


def compare_spaces(first: WordVectors, second: WordVectors) -> tuple[int, Subspaces]:
    """Return the number of words that two sets of vectors share, and compare the spaces of these words' vectors.

    Raises `DataError` if they share none, and the errors of `compare_subspaces`.
    """
    shared = [word for word in first.words if word in second.index]
    if not shared:
        raise DataError(f"{first.name} and {second.name} have no word in common: nothing to compare")
    matrices = [vectors.matrix_VE[[vectors.index[word] for word in shared]] for vectors in (first, second)]
    return len(shared), compare_subspaces(*matrices)


def orthonormal_basis(matrix_VE: NDArray[Any]) -> Doubles:
    """Return orthonormal columns of the same span, (V, K): QR, then the small factor's own rank.

    Raises `DataError` for a matrix that is not finite, or all zeros.
    """
    matrix = np.asarray(matrix_VE, np.float64)
    if not np.isfinite(matrix).all():
        raise DataError("a matrix has numbers that are NaN or infinite: did the training diverge?")
    basis, triangle = np.linalg.qr(matrix)
    turn, size_K, _ = np.linalg.svd(triangle)
    noise = np.finfo(np.asarray(matrix_VE).dtype if matrix_VE.dtype.kind == "f" else np.float64).eps
    # rounding in the matrix grows with the smaller side alone, beside the largest size: words come by the ten thousand
    rank = int((size_K > size_K.max(initial=0.0) * min(matrix.shape) * noise).sum())
    if rank == 0:
        raise DataError("a matrix is all zeros: it spans no space")
    kept: Doubles = basis @ turn[:, :rank]
    return kept


def _angles(smaller: Doubles, larger: Doubles, cosine_KL: Doubles) -> Doubles:
    """Compute small angles from sines and large ones from cosines, as each is exact only there."""
    cosine = np.clip(np.linalg.svd(cosine_KL, compute_uv=False), 0, 1)
    sine = np.clip(np.linalg.svd(smaller - larger @ cosine_KL.T, compute_uv=False), 0, 1)[::-1]
    angles: Doubles = np.where(cosine**2 > 0.5, np.arcsin(sine), np.arccos(cosine))
    return angles
