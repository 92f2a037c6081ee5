"""The counts behind benchmarks/unbounded_contexts.py, against a search of the text."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.unbounded_contexts import held_out, unbounded

WORDS = 4


def searched(train: list[int], text: list[int], place: int) -> tuple[int, int, int]:
    """(Words of the longest context that has a word after it in training, how often, how often this word)."""
    for length in range(place, -1, -1):
        context = text[place - length : place]
        after = [train[at + length] for at in range(len(train) - length) if train[at : at + length] == context]
        if after:
            return length, len(after), after.count(text[place])
    raise AssertionError("the empty context is everywhere")


@pytest.mark.parametrize("seed", range(6))
def test_longest_suffixes_are_found_and_counted(seed: int) -> None:
    generator = np.random.default_rng(seed)
    train, text = generator.integers(0, WORDS, 60), generator.integers(0, WORDS, 40)
    text[10:25] = train[20:35]
    if seed % 2:
        text[-8:] = train[-8:]  # what ends the training text has no word after it
    found = unbounded(train, text, WORDS)
    expected = [searched(train.tolist(), text.tolist(), place) for place in range(len(text))]
    assert found.length_N.tolist() == [length for length, _, _ in expected]
    assert found.count_N.tolist() == [count for _, count, _ in expected]
    assert np.exp(found.log_p_N) == pytest.approx([hits / count for _, count, hits in expected])
    assert max(found.length_N) >= 14


def test_weights_are_of_the_first_half() -> None:
    """One part is right in the first half, the other in the second."""
    log_p_NP = np.log([[0.9, 0.1]] * 50 + [[0.1, 0.9]] * 50)
    assert held_out(log_p_NP, np.zeros(100, np.intp)) == pytest.approx(10, rel=0.01)
