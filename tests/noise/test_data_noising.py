"""Data noising: token by token, and the target with the input."""

import numpy as np
import torch
from scipy import stats

from wordtie.noise.data_noising import noised_window
from wordtie.noise.proposals import Proposal

V = 5
PROPOSAL = Proposal.from_weights(np.array([0.1, 0.2, 0.4, 0.0, 1.0]), np.array([0.0, 0.0, 0.0, 3.0, 1.0]))
"""Words 0 to 2 are replaced by 3 and 4 only, so that a replacement is seen."""
SURE = 1e-4


def window(seed: int, low: int = 0, high: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(seed)
    return torch.randint(low, high, (40, 1000)), torch.randint(low, high, (40, 1000))


def test_rates_and_replacements() -> None:
    inputs, targets = window(1)
    noised, untouched = noised_window(PROPOSAL, inputs, targets, replace_targets=False)
    assert torch.equal(untouched, targets)
    replaced = noised != inputs
    for word in range(3):
        here = replaced[inputs == word]
        rate = float(PROPOSAL.gamma_V[word])
        assert stats.binomtest(int(here.sum()), len(here), rate).pvalue > SURE
    drawn = torch.bincount(noised[replaced], minlength=V)[3:].numpy()
    assert stats.chisquare(drawn, drawn.sum() * np.array([0.75, 0.25])).pvalue > SURE


def test_each_token_is_decided_on_its_own() -> None:
    """Unlike variational smoothing: the same word of one stream is replaced here and kept there."""
    inputs = torch.full((2, 20_000), 2)
    torch.manual_seed(2)
    replaced = (noised_window(PROPOSAL, inputs, inputs, replace_targets=False)[0] != inputs).numpy()
    table = [[int(((replaced[0] == a) & (replaced[1] == b)).sum()) for b in (False, True)] for a in (False, True)]
    assert stats.chi2_contingency(table).pvalue > SURE


def test_the_target_goes_exactly_where_its_input_goes() -> None:
    inputs, targets = window(3)
    noised, new_targets = noised_window(PROPOSAL, inputs, targets, replace_targets=True)
    assert torch.equal(noised != inputs, new_targets != targets)


def test_the_target_is_a_draw_of_its_own() -> None:
    inputs, targets = window(4)
    noised, new_targets = noised_window(PROPOSAL, inputs, targets, replace_targets=True)
    replaced = noised != inputs
    pairs = (noised[replaced] - 3) * 2 + (new_targets[replaced] - 3)
    found = torch.bincount(pairs, minlength=4).numpy()
    expected = np.outer([0.75, 0.25], [0.75, 0.25]).ravel()
    assert stats.chisquare(found, found.sum() * expected).pvalue > SURE
