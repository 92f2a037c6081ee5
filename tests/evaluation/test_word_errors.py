"""Word errors against the recursive definition."""

from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from wordtie.evaluation.word_errors import word_errors

WORDS = st.lists(st.sampled_from("abc"), max_size=7)


@given(WORDS, WORDS)
def test_equals_the_definition(words: list[str], reference: list[str]) -> None:
    @cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        same = words[i - 1] == reference[j - 1]
        return min(distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + (not same))

    assert word_errors(words, reference) == distance(len(words), len(reference))
