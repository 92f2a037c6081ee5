"""Words and their numbers."""

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.errors import DataError

COUNTS = {"the": 5, "cat": 2, "bat": 2, "dog": 1, EOS: 3}


def test_falling_count_then_alphabet_and_unk_by_what_it_stands_for() -> None:
    assert Vocabulary.from_counts(COUNTS).words == ("the", EOS, "bat", "cat", "dog", UNK)
    assert Vocabulary.from_counts(COUNTS, size=4).words == ("the", EOS, UNK, "bat")  # <unk> is cat, cat and dog
    assert Vocabulary.from_counts(COUNTS, min_count=2).words == ("the", EOS, "bat", "cat", UNK)


def test_the_texts_own_unk_is_the_vocabularys() -> None:
    vocabulary = Vocabulary.from_counts({"a": 1, UNK: 7})
    assert vocabulary.words == (UNK, "a", EOS)
    assert vocabulary.encode([UNK, "a", "never seen"]).tolist() == [0, 1, 0]


@given(st.lists(st.text(max_size=3)), st.integers(1, 3))
def test_whatever_the_words(words: list[str], min_count: int) -> None:
    counts = Counter(words)
    most = max((count for word, count in counts.items() if word not in (UNK, EOS)), default=0)
    assume(not most or most >= min_count)
    vocabulary = Vocabulary.from_counts(counts, min_count=min_count)
    shuffled = Vocabulary.from_counts(dict(sorted(counts.items())), min_count=min_count)
    assert vocabulary == shuffled
    assert hash(vocabulary) == hash(shuffled)
    assert [vocabulary.id(word) for word in vocabulary.words] == list(range(len(vocabulary)))
    assert set(vocabulary.words) == {word for word in words if counts[word] >= min_count} | {UNK, EOS}
    assert vocabulary.encode(words).tolist() == [vocabulary.id(word) for word in words]
    assert all((word in vocabulary) == (word in (UNK, EOS) or counts[word] >= min_count) for word in words)


def test_larger_than_the_text() -> None:
    assert len(Vocabulary.from_counts(COUNTS, size=6)) == 6
    with pytest.raises(DataError, match=r"7 is larger than the text, which has 6 distinct words.*or set it lower"):
        Vocabulary.from_counts(COUNTS, size=7)
    with pytest.raises(DataError, match="5 distinct words seen at least 2 times"):
        Vocabulary.from_counts(COUNTS, size=7, min_count=2)


def test_none_as_often_as_asked() -> None:
    with pytest.raises(DataError, match=r"no word comes 50 times: set data\.min_count to at most 3"):
        Vocabulary.from_counts({"a": 3, "b": 1, EOS: 100}, min_count=50)
    assert len(Vocabulary.from_counts({UNK: 1, EOS: 4}, min_count=50)) == 2


@pytest.mark.parametrize("words", [["a", UNK, EOS, "a"], ["a", UNK], [EOS]])
def test_refuses_what_is_no_vocabulary(words: list[str]) -> None:
    with pytest.raises(ValueError, match="vocabulary"):
        Vocabulary(words)


def test_shows_its_size() -> None:
    assert repr(Vocabulary([UNK, EOS])) == "Vocabulary(2 words)"
    assert Vocabulary([UNK, EOS]) != (UNK, EOS)
