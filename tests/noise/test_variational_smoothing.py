"""One draw for each word of a sequence, whole or coordinate by coordinate."""

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from wordtie.nn.drawn_rows import RowDraw, distinct_words
from wordtie.noise.proposals import Proposal
from wordtie.noise.variational_smoothing import (
    rows_of,
    smooth_element_pairs,
    smooth_elements,
    smooth_pairs,
    smooth_shared,
    smooth_words,
)

V = 6
GAMMA = np.array([0.02, 0.1, 0.3, 0.9, 0.0, 1.0])
PROPOSAL = Proposal.from_weights(GAMMA, np.array([0.0, 0.0, 0.0, 0.0, 3.0, 1.0]))
"""Words 0 to 3 are replaced by 4 and 5 only, so that a replacement is seen."""
SHARES = np.array([0.75, 0.25])
SURE = 1e-4


def every_word(streams: int, sides: int = 1) -> Tensor:
    """Words 0 to 3 in each stream, three times each: (K, T, B)."""
    return torch.arange(4).repeat(3)[None, :, None].expand(sides, -1, streams)


def sources(rows: RowDraw, size: int) -> Tensor:
    """(K, T, B, E): the word that each coordinate of each token comes from."""
    source_ME = rows.words_M[:, None].repeat(1, size)
    if rows.places_R is not None and rows.sources_R is not None:
        source_ME.view(-1)[rows.places_R] = rows.sources_R
    return source_ME[rows.row_KTB]


def test_distinct_words_of_each_sequence() -> None:
    ids = torch.tensor([[[3, 1], [0, 1], [3, 2]], [[0, 1], [1, 5], [3, 1]]])
    rows = distinct_words(ids, V)
    assert torch.equal(rows.words_M[rows.row_KTB], ids)
    assert rows.words_M.tolist() == [0, 3, 1, 2, 0, 1, 3, 1, 5]
    assert rows.first_side == 4


@pytest.mark.parametrize("elementwise", [False, True])
def test_the_same_word_has_the_same_draw_within_a_sequence(elementwise: bool) -> None:
    torch.manual_seed(1)
    rows = distinct_words(every_word(50, sides=2), V)
    found = sources(smooth_elements(rows, PROPOSAL, 3) if elementwise else smooth_words(rows, PROPOSAL), 3)
    assert torch.equal(found[:, :4], found[:, 4:8])
    assert torch.equal(found[:, :4], found[:, 8:])
    assert not (found[:, :1] == found[:, :1, :1]).all(), "other streams draw for themselves"


def check_rates(found: Tensor, word: Tensor) -> None:
    """Replaced at gamma, and by words of the proposal."""
    for each in range(4):
        here = found[word == each].flatten()
        assert stats.binomtest(int((here != each).sum()), len(here), GAMMA[each]).pvalue > SURE
    drawn = torch.bincount(found[found != word[..., None]].flatten(), minlength=V)[4:].numpy()
    assert stats.chisquare(drawn, drawn.sum() * SHARES).pvalue > SURE


def test_words_are_replaced_at_gamma() -> None:
    torch.manual_seed(2)
    ids = every_word(5000)[:, :4]
    check_rates(sources(smooth_words(distinct_words(ids, V), PROPOSAL), 1), ids)


def test_elements_are_replaced_at_gamma() -> None:
    torch.manual_seed(3)
    ids = every_word(1500)[:, :4]
    check_rates(sources(smooth_elements(distinct_words(ids, V), PROPOSAL, 7), 7), ids)


def test_how_many_elements_of_a_row_are_replaced_is_binomial() -> None:
    """Which says that coordinates are independent of one another."""
    torch.manual_seed(4)
    size, word = 5, 2
    ids = torch.full((1, 1, 20_000), word)
    replaced = sources(smooth_elements(distinct_words(ids, V), PROPOSAL, size), size)[0, 0] != word
    found = torch.bincount(replaced.sum(1), minlength=size + 1).numpy()
    expected = 20_000 * stats.binom.pmf(np.arange(size + 1), size, GAMMA[word])
    assert stats.chisquare(found, expected, sum_check=False).pvalue > SURE
    columns = replaced.sum(0).numpy()
    assert stats.chisquare(columns, np.full(size, columns.mean())).pvalue > SURE


@pytest.mark.parametrize("elementwise", [False, True])
def test_input_and_output_are_independent_draws(elementwise: bool) -> None:
    torch.manual_seed(5)
    rows = distinct_words(torch.full((2, 1, 20_000), 2), V)
    found = sources(smooth_elements(rows, PROPOSAL, 1) if elementwise else smooth_words(rows, PROPOSAL), 1)
    read, written = (found[:, 0, :, 0] != 2).numpy()
    table = [[int(((read == a) & (written == b)).sum()) for b in (False, True)] for a in (False, True)]
    assert min(map(min, table)) > 1000
    assert stats.chi2_contingency(table).pvalue > SURE


def test_pairs_replace_a_target_exactly_where_the_word_read_was() -> None:
    torch.manual_seed(6)
    streams = 5000
    inputs = torch.tensor([0, 1, 2, 3, 2, 0])[:, None].expand(-1, streams)
    targets = torch.tensor([1, 2, 3, 2, 0, 1])[:, None].expand(-1, streams)
    rows = smooth_pairs(inputs, targets, V, PROPOSAL)
    read, written = sources(rows, 1)[..., 0]
    assert torch.equal(written != targets, read != inputs)
    check_rates(read[:4, :, None], inputs[:4])
    assert torch.equal(read[2], read[4]), "the same word reads alike within a sequence"
    assert torch.equal(written[0], written[5]), "and a target after the same word is drawn alike"
    both = (written[1] != 2) & (written[3] != 2)
    assert torch.equal(written[1][both], written[3][both]), "whatever word it is drawn after"
    drawn = torch.stack([read[3], written[3]])[:, read[3] != 3]
    table = [[int(((drawn[0] == a) & (drawn[1] == b)).sum()) for b in (4, 5)] for a in (4, 5)]
    assert stats.chi2_contingency(table).pvalue > SURE, "two words are drawn, not one twice"
    assert stats.chisquare(np.sum(table, axis=0), np.sum(table) * SHARES).pvalue > SURE


def test_pairs_of_elements_replace_the_targets_coordinates_where_those_read_are() -> None:
    torch.manual_seed(7)
    size = 5
    inputs = torch.tensor([0, 1, 2, 3, 2, 0])[:, None].expand(-1, 1500)
    targets = torch.tensor([1, 2, 3, 2, 0, 1])[:, None].expand(-1, 1500)
    rows = smooth_element_pairs(inputs, targets, V, PROPOSAL, size)
    assert rows.places_R is not None
    assert bool((rows.places_R.diff() > 0).all()), "rising and distinct, as drawn_rows needs them"
    read, written = sources(rows, size)
    assert torch.equal(written != targets[..., None], read != inputs[..., None])
    check_rates(read[:4], inputs[:4])
    assert torch.equal(read[2], read[4])
    assert torch.equal(written[0], written[5]), "the same pair has the same draw within a sequence"
    replaced = read[3] != 3
    table = [[int(((read[3][replaced] == a) & (written[3][replaced] == b)).sum()) for b in (4, 5)] for a in (4, 5)]
    assert stats.chi2_contingency(table).pvalue > SURE, "two words are drawn, not one twice"
    assert stats.chisquare(np.sum(table, axis=0), np.sum(table) * SHARES).pvalue > SURE


def test_a_shared_draw_replaces_a_word_alike_where_it_is_read_and_where_it_is_predicted() -> None:
    torch.manual_seed(8)
    streams = 5000
    inputs = torch.tensor([0, 1, 2, 3, 2])[:, None].expand(-1, streams)
    targets = torch.tensor([1, 2, 3, 2, 1])[:, None].expand(-1, streams)
    rows = smooth_shared(inputs, targets, V, PROPOSAL)
    read, written = sources(rows, 1)[..., 0]
    assert torch.equal(read[1:4], written[:3]), "each word is read a step after it was predicted"
    assert torch.equal(read[2], read[4])
    assert torch.equal(written[0], written[4])
    check_rates(read[:4, :, None], inputs[:4])
    assert not (read[2] == read[2, 0]).all(), "other streams draw for themselves"
    assert rows.first_side == streams * 4, "rows of the two sides stay apart: one alone has the dropout of inputs"


@pytest.mark.parametrize("elementwise", [False, True])
def test_tokens_are_drawn_each_for_itself(elementwise: bool) -> None:
    torch.manual_seed(9)
    ids = torch.full((1, 2, 20_000), 2)
    rows = rows_of(ids, V, tokens=True)
    found = sources(smooth_elements(rows, PROPOSAL, 1) if elementwise else smooth_words(rows, PROPOSAL), 1)
    first, second = (found[0, :, :, 0] != 2).numpy()
    table = [[int(((first == a) & (second == b)).sum()) for b in (False, True)] for a in (False, True)]
    assert min(map(min, table)) > 1000
    assert stats.chi2_contingency(table).pvalue > SURE
    replaced = int((found != 2).sum())
    assert stats.binomtest(replaced, found.numel(), GAMMA[2]).pvalue > SURE


@pytest.mark.parametrize("elementwise", [False, True])
def test_tokens_in_pairs_replace_a_target_where_the_token_read_was(elementwise: bool) -> None:
    torch.manual_seed(10)
    inputs, targets = torch.full((4, 2000), 2), torch.full((4, 2000), 3)
    if elementwise:
        rows = smooth_element_pairs(inputs, targets, V, PROPOSAL, 1, tokens=True)
    else:
        rows = smooth_pairs(inputs, targets, V, PROPOSAL, tokens=True)
    read, written = sources(rows, 1)[..., 0]
    assert torch.equal(written != 3, read != 2)
    assert int(((read[0] != 2) != (read[1] != 2)).sum()) > 100, "the same word reads otherwise at another step"


def test_a_word_that_is_always_replaced_and_one_that_never_is() -> None:
    ids = torch.tensor([[[4, 5]]])
    for seed in range(20):
        torch.manual_seed(seed)
        rows = smooth_elements(distinct_words(ids, V), PROPOSAL, 9)
        assert rows.places_R is not None
        assert rows.places_R.tolist() == list(range(9, 18)), "word 5, in the second row"


def test_nothing_is_drawn_where_nothing_is_replaced() -> None:
    rows = smooth_elements(distinct_words(torch.full((2, 3, 2), 4), V), PROPOSAL, 8)
    assert rows.places_R is not None
    assert len(rows.places_R) == 0
