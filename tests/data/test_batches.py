"""Windows against a count by hand and against the definition in plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.batches import windows_by_hand
from wordtie.data.batches import PADDING, batches, spread, stream_length, window_count
from wordtie.errors import DataError

EOS = 99
IDS = np.arange(7)


def test_worked_example() -> None:
    """Streams 0 1 2 and 3 4 5, two steps at a time; 6 is dropped."""
    (inputs1, targets1), (inputs2, targets2) = batches(IDS, streams=2, steps=2, eos_id=EOS)
    assert inputs1.tolist() == [[EOS, 2], [0, 3]]
    assert targets1.tolist() == [[0, 3], [1, 4]]
    assert inputs2.tolist() == [[1, 4]]
    assert targets2.tolist() == [[2, 5]]


def test_worked_example_where_nothing_is_dropped() -> None:
    """Streams 0 1 2 3 and 4 5 6."""
    (inputs1, targets1), (inputs2, targets2) = batches(IDS, streams=2, steps=2, eos_id=EOS, drop=False)
    assert inputs1.tolist() == [[EOS, 3], [0, 4]]
    assert targets1.tolist() == [[0, 4], [1, 5]]
    assert inputs2.tolist() == [[1, 5], [2, EOS]]
    assert targets2.tolist() == [[2, 6], [3, PADDING]]


@given(st.integers(1, 60), st.integers(1, 9), st.integers(1, 9), st.booleans(), st.integers(0, 3))
def test_equals_the_definition(words: int, size: int, steps: int, drop: bool, start: int) -> None:
    ids = np.arange(100, 100 + words, dtype=np.int32)
    if drop and words < size:
        with pytest.raises(DataError, match=f"at most {words}"):
            next(batches(ids, size, steps, eos_id=EOS))
        return
    found = list(batches(ids, size, steps, eos_id=EOS, drop=drop))
    expected = windows_by_hand(ids.tolist(), size, steps, EOS, drop)
    assert [(inputs.tolist(), targets.tolist()) for inputs, targets in found] == expected
    assert not drop or len(found) == window_count(words, size, steps)
    for array in (array for window in found for array in window):
        assert array.dtype == np.int64
        assert array.flags.c_contiguous
    later = [targets.tolist() for _, targets in batches(ids, size, steps, eos_id=EOS, drop=drop, start=start)]
    assert later == [targets.tolist() for _, targets in found[start:]]


@given(st.integers(1, 60), st.integers(1, 9), st.integers(1, 9))
def test_every_token_is_a_target_once_after_the_one_before_it(words: int, size: int, steps: int) -> None:
    ids = np.arange(words)
    pairs = []
    for inputs, targets in batches(ids, size, steps, eos_id=EOS, drop=False):
        pairs += [
            (t, i) for i, t in zip(inputs.ravel().tolist(), targets.ravel().tolist(), strict=True) if t != PADDING
        ]
    assert sorted(pairs) == [(t, t - 1 if t else EOS) for t in range(words)]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=40), st.integers(1, 120), st.integers(1, 5))
def test_what_is_measured_is_whole_sentences(lengths: list[int], tokens: int, stretches: int) -> None:
    """Wherever a stretch has one. Words are numbered, so that their places are known."""
    ends = np.cumsum(np.array(lengths) + 1) - 1
    ids = np.arange(1, ends[-1] + 2)
    ids[ends] = 0
    found = spread(ids, tokens, stretches, eos_id=0)
    if len(ids) <= tokens:
        assert found.tolist() == ids.tolist()
        return
    assert len(found) <= tokens
    plain = spread(ids, tokens, stretches)
    sizes = np.diff([tokens * number // stretches for number in range(stretches + 1)])
    expected: list[int] = []
    for number, size in enumerate(sizes):
        start = len(ids) * number // stretches
        piece = [start + place for place in range(size)]
        inside = [place for place in piece if ids[place] == 0]
        begin = next((place for place in piece if place == 0 or ids[place - 1] == 0), None)
        whole = begin is not None and inside and inside[-1] >= begin
        expected += list(range(begin, inside[-1] + 1)) if whole and begin is not None else piece
    assert found.tolist() == ids[expected].tolist()
    assert set(found.tolist()) <= set(plain.tolist())


def test_too_short_a_text() -> None:
    with pytest.raises(DataError, match=r"3 words, too few for 4 streams: set training\.streams to at most 3"):
        stream_length(3, 4)
    with pytest.raises(DataError, match="0 words"):
        next(batches(np.arange(0), 1, 1, eos_id=EOS, drop=False))
