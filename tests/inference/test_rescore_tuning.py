"""Weights against a search of many values; lines of totals against every hypothesis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordtie.data.nbest import Hypothesis, NBestList
from wordtie.errors import SettingsError
from wordtie.evaluation.bleu import bleu
from wordtie.inference.rescore import Reading, ScoredList, Weights
from wordtie.inference.rescore_tuning import (
    Development,
    _upper_envelope,
    bleu_statistics,
    tune,
    word_error_statistics,
)

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "two", "dogs"]
SMALL = st.integers(-5, 5).map(float)


@given(st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=8))
def test_the_highest_line_everywhere(lines: list[tuple[float, float]]) -> None:
    slope_H, height_H = np.array(lines).T
    found = _upper_envelope(slope_H, height_H, -3.0, 7.0)
    assert found[0][0] == -3.0
    for (begin, number), end in zip(found, [*(at for at, _ in found[1:]), 7.0], strict=True):
        for x in np.linspace(begin, end, 5):
            assert height_H[number] + x * slope_H[number] == pytest.approx((height_H + x * slope_H).max(), abs=1e-9)


def made_up(lists: int, seed: int = 1) -> tuple[list[ScoredList], list[str]]:
    """Hypotheses that are their reference with errors; score and log p say half of the truth each."""
    draw = np.random.default_rng(seed)
    scored, references = [], []
    for number in range(lists):
        reference = draw.choice(WORDS, draw.integers(3, 9)).tolist()
        hypotheses, log_p = [], []
        for _ in range(6):
            errors = draw.integers(0, 4)
            words = list(reference)
            for _ in range(errors):
                words[draw.integers(len(words))] = str(draw.choice(WORDS))
            wrong = sum(a != b for a, b in zip(words, reference, strict=True))
            hypotheses.append(Hypothesis(" ".join(words), -wrong / 2 + draw.normal()))
            log_p.append(3 * (-wrong / 2 + draw.normal()))
        score_H = np.array([each.score for each in hypotheses])
        words_H, zero_H = np.full(6, float(len(reference))), np.zeros(6)
        scored.append(ScoredList(NBestList(str(number), hypotheses), score_H, np.array(log_p), words_H, zero_H))
        references.append(" ".join(reference))
    return scored, references


def on_a_grid(development: Development) -> float:
    return max(development.at(Weights(lm)) for lm in np.linspace(0, 3, 301))


def test_word_errors_are_as_few_as_on_a_grid() -> None:
    lists, references = made_up(60)
    found = tune(lists, references, "wer", Reading())
    development = word_error_statistics(list(zip(lists, references, strict=True)), Reading())
    assert found.after < found.before - 3
    assert -found.after == development.at(found.weights) >= on_a_grid(development)
    assert 0.1 < found.weights.lm < 2


def test_bleu_is_as_high_as_on_a_grid_and_as_sacrebleu_says() -> None:
    pytest.importorskip("sacrebleu")
    lists, references = made_up(60)
    found = tune(lists, references, "bleu", Reading())
    development = bleu_statistics(list(zip(lists, references, strict=True)), Reading())
    assert found.after > found.before + 2
    assert found.after >= on_a_grid(development)
    best = [each.ranked(found.weights).best_text for each in lists]
    assert bleu(best, references, "none", lowercase=False).bleu == pytest.approx(found.after, abs=1e-9)
    first = [each.ranked(Weights(0.0)).best_text for each in lists]
    assert bleu(first, references, "none", lowercase=False).bleu == pytest.approx(found.before, abs=1e-9)


def test_a_model_that_does_not_help_has_no_weight() -> None:
    hypotheses = [Hypothesis("a b", 1.0), Hypothesis("c", 0.0)]
    worse = ScoredList(NBestList("0", hypotheses), *np.array([[1, 0], [-9, -1], [2, 1], [0, 0]], float))
    found = tune([worse], ["a b"], "wer", Reading())
    assert (found.before, found.after, found.weights) == (0.0, 0.0, Weights(0.0))


def test_words_are_compared_as_they_are_read() -> None:
    hypotheses = [Hypothesis("THE CAT .", 0.0)]
    one = ScoredList(NBestList("0", hypotheses), *np.zeros((4, 1)))
    assert tune([one], ["the cat"], "wer", Reading()).before == pytest.approx(150)
    assert tune([one], ["the cat"], "wer", Reading(case="lower", punctuation="drop")).before == 0


def test_lists_without_hypotheses() -> None:
    empty = ScoredList(NBestList("0", []), *np.zeros((4, 0)))
    with pytest.raises(SettingsError, match="no lists to fit weights on"):
        tune([empty], ["the"], "wer", Reading())
    lists, references = made_up(3)
    assert tune([empty, *lists], ["x", *references], "wer", Reading()).lists == 3
