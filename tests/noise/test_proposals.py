"""Rates and proposals against their definitions, and the draws against both."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import stats

from wordtie.config import NoiseSettings
from wordtie.errors import DataError
from wordtie.kernels.alias_table import alias_table
from wordtie.ngrams.counts import neighbour_counts
from wordtie.noise.proposals import Proposal, build_proposal

TEXT = np.array([0, 1, 0, 2, 0, 1, 3, 0, 1, 0, 2, 4])
WORDS = 6
"""Word 5 is not in the text."""
SURE = 1e-4
"""Draws are seeded: a test that passes goes on passing."""


def proposal(kind: str, gamma: float = 0.5) -> Proposal:
    scheme = "data_noising"
    settings = NoiseSettings(kind=kind, gamma=gamma, scheme=scheme)  # type: ignore[arg-type]
    return build_proposal(settings, neighbour_counts(TEXT, WORDS), blank_id=3)


def by_hand(kind: str, gamma: float) -> tuple[list[float], list[float]]:
    """Table 1 of Kong et al. (2019), from the text itself."""
    text = TEXT.tolist()
    bigrams = set(pairwise(text))
    count = [text.count(i) for i in range(WORDS)]
    after = [len({b for b in bigrams if b[0] == i}) for i in range(WORDS)]
    before = [len({b for b in bigrams if b[1] == i}) for i in range(WORDS)]
    discounting = kind in ("absolute_discounting", "kneser_ney")
    rates = [(gamma * after[i] / count[i] if count[i] else 0.0) if discounting else gamma for i in range(WORDS)]
    weights = {"blank": [0, 0, 0, 1, 0, 0], "kneser_ney": before}.get(kind, count)
    return rates, [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("kind", ["blank", "linear_interpolation", "absolute_discounting", "kneser_ney"])
def test_equals_the_table(kind: str) -> None:
    rates, shares = by_hand(kind, 0.5)
    assert proposal(kind).gamma_V.tolist() == pytest.approx(rates)
    assert proposal(kind).share_V.tolist() == pytest.approx(shares)


@pytest.mark.parametrize("kind", ["linear_interpolation", "kneser_ney"])
def test_draws_follow_the_proposal(kind: str) -> None:
    torch.manual_seed(1)
    found = proposal(kind)
    drawn = torch.bincount(found.draw(torch.empty(200, 500)).flatten(), minlength=WORDS).numpy()
    there = found.share_V.numpy() > 0
    assert drawn[~there].sum() == 0
    assert stats.chisquare(drawn[there], 100_000 * found.share_V.numpy()[there]).pvalue > SURE


def test_draws_follow_a_long_tail() -> None:
    torch.manual_seed(2)
    weights = 1 / np.arange(1, 3001)
    found = Proposal.from_weights(np.zeros(3000), weights)
    drawn = np.bincount(found.draw(torch.empty(3_000_000)).numpy(), minlength=3000)
    assert stats.chisquare(drawn, 3e6 * weights / weights.sum()).pvalue > SURE


@pytest.mark.parametrize("words", [2, 15, 16, 255])
def test_draws_among_few_words_are_even(words: int) -> None:
    torch.manual_seed(3)
    found = Proposal.from_weights(np.zeros(words), np.ones(words))
    drawn = np.bincount(found.draw(torch.empty(2_000_000)).numpy(), minlength=words)
    assert stats.chisquare(drawn).pvalue > SURE


@pytest.mark.parametrize("kind", ["linear_interpolation", "kneser_ney"])
def test_replaces_at_the_rates(kind: str) -> None:
    torch.manual_seed(3)
    found, times = proposal(kind), 20_000
    words = torch.arange(WORDS).repeat(times)
    new, replaced = found.replace(words)
    assert torch.equal(new[~replaced], words[~replaced])
    hits = replaced.view(times, WORDS).sum(0).numpy()
    expected = times * found.gamma_V.numpy()
    can = expected > 0
    assert hits[~can].sum() == 0
    table = np.stack([hits[can], times - hits[can]])
    assert stats.chisquare(table.ravel(), np.stack([expected[can], times - expected[can]]).ravel()).pvalue > SURE
    drawn, shares = np.bincount(new[replaced].numpy(), minlength=WORDS), found.share_V.numpy()
    assert stats.chisquare(drawn[shares > 0], len(new[replaced]) * shares[shares > 0]).pvalue > SURE


def test_a_word_without_a_share_is_impossible_where_rounding_leaves_its_cell_over() -> None:
    own, alias = alias_table(np.array([0.0, 0.5, 1.5 - 1e-12]))
    assert (own[0], alias[0]) == (0.0, 2)
    assert own.tolist() == pytest.approx([0.0, 0.5, 1.0])


def test_gamma_of_nothing_and_of_all() -> None:
    words = torch.arange(WORDS).repeat(100)
    assert not proposal("linear_interpolation", 0.0).replace(words)[1].any()
    assert proposal("linear_interpolation", 1.0).replace(words)[1].all()


def test_refuses_a_text_without_neighbours() -> None:
    with pytest.raises(DataError, match="too short"):
        build_proposal(NoiseSettings(kind="kneser_ney"), neighbour_counts(np.array([1]), 2), blank_id=0)
