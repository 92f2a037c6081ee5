"""The paired bootstrap, against a literal one, and on models of which it is known whether they differ."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wordtie.data.vocabulary import Vocabulary
from wordtie.evaluation import paired
from wordtie.evaluation.paired import FEWEST_BLOCKS, MOST_BLOCKS, STRETCH, Difference, paired_bootstrap, score_units
from wordtie.evaluation.perplexity import evaluate_blocks
from wordtie.ngrams import NgramModel, fit_kneser_ney

VOCABULARY = Vocabulary(["<unk>", "<eos>", *(f"w{number}" for number in range(9))])
IDS = np.random.default_rng(3).zipf(1.5, 3000) % len(VOCABULARY)


def bounds(found: Difference) -> tuple[float, float]:
    assert found.bits_interval is not None
    return found.bits_interval


def models() -> list[NgramModel]:
    return [NgramModel(VOCABULARY, fit_kneser_ney(IDS[:1000], len(VOCABULARY), order, eos_id=1)) for order in (1, 2)]


@pytest.mark.parametrize("eos_id", [1, None], ids=["lines", "running text"])
def test_units_are_lines_or_stretches(eos_id: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = models()
    found = score_units(parts, [IDS[:700], IDS[700:]], eos_id, among=(1,))
    ends = np.flatnonzero(IDS == 1) + 1 if eos_id else np.arange(STRETCH, len(IDS), STRETCH)
    lengths = np.diff(np.unique([0, *ends, len(IDS)]))
    assert found.tokens_U.tolist() == lengths.tolist()
    log_p_N = parts[1].score(IDS[:, None], parts[1].initial_state(1))[0][:, 0]
    assert found.nats_MU[1] == pytest.approx([-part.sum() for part in np.split(log_p_N, np.cumsum(lengths)[:-1])])
    assert found.score(1).nats == pytest.approx(evaluate_blocks(parts[1], [IDS]).nats)
    monkeypatch.setattr(paired, "TOKENS_AT_ONCE", 13)
    in_pieces = score_units(parts, [IDS], eos_id, among=(1,))
    assert in_pieces.nats_MU == pytest.approx(found.nats_MU)
    assert in_pieces.shares(0, (1,)) == pytest.approx(found.shares(0, (1,)))


def test_the_interval_is_that_of_a_literal_bootstrap() -> None:
    generator = np.random.default_rng(7)
    tokens = generator.integers(1, 30, 60)
    first = np.asarray(tokens * 5.0, np.float64)
    second = np.asarray(tokens * 5.1 + generator.normal(0, 3, 60), np.float64)
    found = paired_bootstrap(first, second, tokens)
    drawn = [generator.integers(60, size=60) for _ in range(4000)]
    means = sorted((second - first)[each].sum() / tokens[each].sum() / math.log(2) for each in drawn)
    assert found.bits == pytest.approx((second - first).sum() / tokens.sum() / math.log(2))
    assert found.bits_interval == pytest.approx((means[100], means[3900]), abs=0.02)
    assert found.ratio == pytest.approx(2**found.bits)
    assert found.ratio_interval == pytest.approx([2**each for each in bounds(found)])
    assert found == paired_bootstrap(first, second, tokens)
    assert found.blocks == 60


def test_the_interval_holds_the_true_difference_as_often_as_it_says() -> None:
    generator, held = np.random.default_rng(2), 0
    for _ in range(100):
        difference = np.asarray(generator.normal(0.0, 1.0, 80), np.float64)
        low, high = bounds(paired_bootstrap(np.zeros(80), difference, np.ones(80, np.int64)))
        held += low <= 0 <= high
    assert 88 <= held <= 99


def test_a_long_text_is_resampled_in_blocks_of_neighbours() -> None:
    units = 2 * MOST_BLOCKS + 7
    tokens = np.ones(units, np.int64)
    found = paired_bootstrap(np.zeros(units), np.asarray(np.arange(units) % 2, np.float64), tokens)
    assert found.blocks == MOST_BLOCKS
    low, high = bounds(found)
    assert high - low < 0.01  # neighbours are one 0 and one 1: alone they would differ by more


def test_few_units_have_no_interval() -> None:
    """Of two lines that agree, the resamples would all have one sign, half of the time by chance."""
    for units, has_one in ((2, False), (FEWEST_BLOCKS - 1, False), (FEWEST_BLOCKS, True)):
        found = paired_bootstrap(np.zeros(units), np.arange(units) + np.float64(1), np.full(units, 4))
        assert found.blocks == units
        assert (found.bits_interval is not None) == (found.ratio_interval is not None) == has_one


def test_a_model_that_rules_words_out_is_compared() -> None:
    """With about a thousand nats for each token, which no perplexity can show."""
    found = paired_bootstrap(np.zeros(20), np.full(20, 1000.0), np.ones(20, np.int64))
    assert found.bits == pytest.approx(1000 / math.log(2))
    assert found.ratio == math.exp(700)


def test_one_unit_has_no_interval() -> None:
    found = paired_bootstrap(np.array([5.0]), np.array([6.0]), np.array([4]))
    assert found.bits == pytest.approx(0.25 / math.log(2))
    assert (found.bits_interval, found.ratio_interval, found.blocks) == (None, None, 1)
