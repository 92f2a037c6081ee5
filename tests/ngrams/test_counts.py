"""Counts of neighbours and n-grams against sets and counters over the same text."""

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wordtie.errors import DataError, SettingsError
from wordtie.ngrams.counts import NgramTable, count_ngrams, neighbour_counts

TEXTS = st.lists(st.integers(0, 5), min_size=1, max_size=60)


def spell_ngrams(tables: Sequence[NgramTable], order: int) -> NDArray[np.int64]:
    """The word ids (G, order) of every n-gram of that order, in the order of its table."""
    columns = []
    label = np.arange(len(tables[order - 1].keys), dtype=np.int64)
    for table in reversed(tables[:order]):
        columns.append(table.last[label])
        label = table.context[label]
    return np.stack(columns[::-1], axis=1)


@settings(deadline=None, max_examples=50)
@given(text=TEXTS, dtype=st.sampled_from([np.int64, np.int32, np.uint16, np.uint8]))
def test_neighbours_equal_sets(text: list[int], dtype: type) -> None:
    counts = neighbour_counts(np.array(text, dtype=dtype), vocabulary_size=7)
    pairs = set(itertools.pairwise(text))
    assert counts.count.tolist() == [text.count(word) for word in range(7)]
    assert counts.distinct_left.tolist() == [sum(b == word for _, b in pairs) for word in range(7)]
    assert counts.distinct_right.tolist() == [sum(a == word for a, _ in pairs) for word in range(7)]


@settings(deadline=None, max_examples=50)
@given(text=TEXTS, start_id=st.sampled_from([None, 0]))
def test_ngrams_equal_a_counter(text: list[int], start_id: int | None) -> None:
    tables = count_ngrams(np.array(text), 6, order=5, start_id=start_id)
    for order, table in enumerate(tables, start=1):
        spans = [tuple(text[i : i + order]) for i in range(len(text) - order + 1)]
        expected = Counter(span for span in spans if order == 1 or start_id is None or start_id not in span[1:])
        spelled = [tuple(row) for row in spell_ngrams(tables, order).tolist()]
        found = dict(zip(spelled, table.counts.tolist(), strict=True))
        assert {ngram: count for ngram, count in found.items() if count} == expected
        if order > 1:
            assert spelled == sorted(expected)
            assert spell_ngrams(tables, order - 1)[table.suffix].tolist() == [list(row[1:]) for row in spelled]


def test_refuses_what_it_cannot_count() -> None:
    with pytest.raises(DataError, match="empty"):
        neighbour_counts(np.array([], dtype=np.int64), 3)
    with pytest.raises(DataError, match="vocabulary has 3"):
        neighbour_counts(np.array([0, 3]), 3)
    with pytest.raises(DataError, match="one row"):
        count_ngrams(np.zeros((2, 2), dtype=np.int64), 3, order=2)
    with pytest.raises(SettingsError, match="at least 1"):
        count_ngrams(np.array([0]), 3, order=0)
