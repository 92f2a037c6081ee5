"""Subspace distance against appendix B taken step by step, and against SciPy's principal angles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.commands import Capture
from wordtie import cli
from wordtie.errors import DataError, UsageError
from wordtie.vectors.subspace import compare_subspaces

SHAPES = [(40, 6, 6), (7, 7, 3), (30, 2, 9), (5, 1, 1)]
Doubles = NDArray[np.float64]


def matrices(words: int, first: int, second: int, noise: float = 1.0) -> tuple[Doubles, Doubles]:
    """Two matrices; with little noise the second nearly has its columns from the span of the first."""
    rng = np.random.default_rng(first)
    x = rng.normal(size=(words, first))
    return x, x @ rng.normal(size=(first, second)) + noise * rng.normal(size=(words, second))


def subspace_distance(x: Doubles, y: Doubles) -> float:
    return compare_subspaces(x, y).distance


def by_the_book(x: Doubles, y: Doubles) -> float:
    """Appendix B, steps 1 to 3, by Gram-Schmidt: project V onto U."""

    def orthonormal(matrix: Doubles) -> list[Doubles]:
        columns: list[Doubles] = []
        for column in matrix.T:
            for _ in range(2):  # once more, against rounding
                column = column - sum((float(other @ column) * other for other in columns), np.zeros(len(column)))
            columns.append(column / np.sqrt(float(column @ column)))
        return columns

    residuals = [v - sum(float(u @ v) * u for u in orthonormal(x)) for v in orthonormal(y)]
    return float(np.sqrt(sum(float(r @ r) for r in residuals) / len(residuals)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("noise", [1.0, 1e-3])
def test_is_appendix_b(shape: tuple[int, int, int], noise: float) -> None:
    x, y = matrices(*shape, noise)
    if shape[1] > shape[2]:
        x, y = y, x  # the book divides by the columns of V; ours by the larger rank
    assert subspace_distance(x, y) == pytest.approx(by_the_book(x, y), rel=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("noise", [1.0, 1e-3, 1e-6])
def test_identities_with_scipys_principal_angles(shape: tuple[int, int, int], noise: float) -> None:
    angles_of = pytest.importorskip("scipy.linalg").subspace_angles
    x, y = matrices(*shape, noise)
    if shape[1] < shape[2]:
        y[:, shape[1] :] = np.random.default_rng(1).normal(size=(shape[0], shape[2] - shape[1]))
    found = compare_subspaces(x, y)
    angles = np.sort(angles_of(x, y))
    np.testing.assert_allclose(found.angles, angles, atol=1e-12, rtol=1e-6)
    larger, smaller = max(shape[1:]), min(shape[1:])
    assert found.ranks == shape[1:]
    sines = float((np.sin(angles) ** 2).sum()) + larger - smaller
    assert larger * found.distance**2 == pytest.approx(sines, rel=1e-6, abs=1e-15)
    cosines = float((np.cos(angles) ** 2).sum())
    assert larger * found.distance**2 == pytest.approx(larger - cosines, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_is_symmetric_and_knows_spans_alone(shape: tuple[int, int, int]) -> None:
    x, y = matrices(*shape)
    distance = subspace_distance(x, y)
    assert subspace_distance(y, x) == pytest.approx(distance, rel=1e-12)
    rng = np.random.default_rng(0)
    turned = y @ rng.normal(size=(shape[2], shape[2]))
    assert subspace_distance(3 * x, turned) == pytest.approx(distance, rel=1e-8)
    order = rng.permutation(shape[0])
    assert subspace_distance(x[order], y[order]) == pytest.approx(distance, rel=1e-10)
    if shape[1] == shape[2]:
        between = [m @ np.linalg.solve(m.T @ m, m.T) for m in (x, y)]
        assert distance**2 * shape[1] == pytest.approx(np.sum((between[0] - between[1]) ** 2) / 2, rel=1e-8)


def test_the_same_space_is_at_0_even_nearly() -> None:
    x, y = matrices(200, 20, 20, noise=0.0)
    assert subspace_distance(x, y) < 1e-13
    assert 1e-9 < subspace_distance(*matrices(200, 20, 20, noise=1e-9)) < 1e-7


def test_unrelated_matrices_are_at_the_root_of_one_less_the_share_of_columns() -> None:
    rng = np.random.default_rng(0)
    distance = subspace_distance(rng.normal(size=(2000, 60)), rng.normal(size=(2000, 60)))
    assert distance == pytest.approx((1 - 60 / 2000) ** 0.5, abs=2e-3)


def test_what_lies_outside_counts_by_its_length() -> None:
    """Of y, 3 along x's one column and 4 along none: 4/5 of its norm; the spaces of its columns are far apart."""
    x = np.eye(4)[:, :2]
    y = np.stack([3 * np.eye(4)[0], 4 * np.eye(4)[2]], axis=1)
    found = compare_subspaces(x, y)
    assert found.outside == pytest.approx(0.8)
    assert found.distance == pytest.approx(0.5**0.5)
    assert compare_subspaces(x, y * [1.0, 1e-3]).outside == pytest.approx(4e-3 / 3, rel=1e-4)


def test_dependent_columns_span_nothing_more() -> None:
    x, y = matrices(50, 4, 4)
    doubled = np.hstack([x, x @ np.ones((4, 2))])
    assert compare_subspaces(doubled, y).ranks == (4, 4)
    assert subspace_distance(doubled, y) == pytest.approx(subspace_distance(x, y), rel=1e-9)
    assert compare_subspaces(doubled.astype(np.float32), y).ranks == (4, 4)
    assert subspace_distance(x, x[:, :1]) == pytest.approx((3 / 4) ** 0.5), "a line in the space is not the space"


def test_many_words_do_not_cost_directions() -> None:
    """Vectors that all lean one way, as those of words do, in single precision: every column counts."""
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(50_000, 20)) * np.geomspace(1, 1e-3, 20) + 3 for _ in range(2))
    exact = compare_subspaces(x, y)
    rounded = compare_subspaces(x.astype(np.float32), y.astype(np.float32))
    assert rounded.ranks == exact.ranks == (20, 20)
    assert rounded.distance == pytest.approx(exact.distance, rel=1e-5)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((4, 2)), "4 and 5 rows"),
        (np.zeros((5, 2)), "all zeros"),
        (np.full((5, 2), np.nan), "NaN"),
    ],
)
def test_what_has_no_space_is_refused(matrix: Doubles, message: str) -> None:
    with pytest.raises(DataError, match=message):
        subspace_distance(matrix, np.eye(5))


def test_a_model_that_comes_with_wordtie_is_found(own_folder: Path, capsys: Capture) -> None:
    """It is tied, and that is why it is not enough."""
    assert cli.main(["subspace", "en"]) == UsageError.exit_code
    assert "en: is tied, so both its matrices are one: name a second source" in capsys.readouterr().err
