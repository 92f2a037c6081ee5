"""The mean, its way back, and the L2 that belongs to it."""

import numpy as np
import pytest
import torch

from tests.reference.variational_smoothing import exact_coefficient, mean_vector, printed_coefficient
from wordtie.nn.drawn_rows import distinct_words, drawn_rows
from wordtie.noise.proposals import Proposal
from wordtie.noise.smoothed_l2 import l2_coefficients
from wordtie.noise.smoothed_prediction import fold_mean, unfold_mean
from wordtie.noise.variational_smoothing import smooth_elements, smooth_words

GAMMA = np.array([0.05, 0.4, 0.2, 0.7, 0.0])
PROPOSAL = Proposal.from_weights(GAMMA, np.array([5.0, 1.0, 2.0, 1.0, 0.0]))


def matrix() -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(5, 3)


def test_equals_the_equation() -> None:
    expected = [mean_vector(matrix().tolist(), i, GAMMA.tolist(), PROPOSAL.share_V.tolist()) for i in range(5)]
    torch.testing.assert_close(fold_mean(matrix(), PROPOSAL), torch.tensor(expected))


@pytest.mark.parametrize("elementwise", [False, True])
def test_is_the_average_of_many_draws(elementwise: bool) -> None:
    torch.manual_seed(2)
    draws = 40_000
    rows = distinct_words(torch.arange(5)[None, :, None].expand(1, -1, draws), 5)
    rows = smooth_elements(rows, PROPOSAL, 3) if elementwise else smooth_words(rows, PROPOSAL)
    vectors = drawn_rows(matrix(), rows)[0].double()  # (word, draw, E)
    error = vectors.std(1) / draws**0.5
    assert ((vectors.mean(1) - fold_mean(matrix(), PROPOSAL)).abs() <= 4.5 * error + 1e-6).all()


def test_comes_back() -> None:
    base = matrix().double()
    torch.testing.assert_close(unfold_mean(fold_mean(base, PROPOSAL), PROPOSAL), base)


def test_what_is_always_replaced_does_not_come_back() -> None:
    with pytest.raises(ValueError, match="always replaced"):
        unfold_mean(matrix(), Proposal.from_weights(np.ones(5), np.ones(5)))


def test_exact_l2_collects_every_mixture() -> None:
    expected = [exact_coefficient(v, GAMMA.tolist(), PROPOSAL.share_V.tolist()) for v in range(5)]
    assert l2_coefficients(PROPOSAL, "exact").tolist() == pytest.approx(expected)
    assert sum(expected) == pytest.approx(5), "every mixture weighs one"


def test_printed_l2_is_the_left_side_of_equation_3() -> None:
    expected = [printed_coefficient(v, GAMMA.tolist(), PROPOSAL.share_V.tolist()) for v in range(5)]
    assert l2_coefficients(PROPOSAL, "printed").tolist() == pytest.approx(expected)


def test_exact_l2_grows_with_how_often_a_word_is_drawn() -> None:
    """Footnote 5 of the paper."""
    uniform = Proposal.from_weights(np.full(4, 0.3), np.array([4.0, 3.0, 2.0, 1.0]))
    coefficients = l2_coefficients(uniform, "exact").tolist()
    assert coefficients == sorted(coefficients, reverse=True)
