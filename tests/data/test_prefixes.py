"""Words by their first letters, compared with a search through all of them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from wordtie.data.prefixes import PrefixIndex

WORDS = [
    "the",
    "Peter",
    "people",
    "PEA",
    "pe",
    "pé",
    "straße",
    "STRASSE",
    "<unk>",
    "<eos>",
    "don't",
    "ﬁnd",
    "\U0010ffff",
]


def literal(words: list[str], prefix: str) -> list[int]:
    """What the page says, word by word."""
    if prefix != prefix.lower():
        return [number for number, word in enumerate(words) if word.startswith(prefix)]
    return [number for number, word in enumerate(words) if word.casefold().startswith(prefix.casefold())]


@pytest.mark.parametrize("prefix", ["", "p", "pe", "Pe", "PE", "peo", "strass", "straß", "fi", "don'", "<", "zzz", "é"])
def test_it_finds_what_a_search_through_all_words_finds(prefix: str) -> None:
    assert PrefixIndex(WORDS).ids(prefix).tolist() == literal(WORDS, prefix)


def test_many_made_up_words() -> None:
    generator = random.Random(3)
    words = list(dict.fromkeys("".join(generator.choices("abAB", k=generator.randint(1, 6))) for _ in range(500)))
    index = PrefixIndex(words)
    for prefix in {word[:length] for word in words for length in range(1, 4)}:
        assert index.ids(prefix).tolist() == literal(words, prefix)
        assert index.has(prefix) == bool(literal(words, prefix))


def test_a_word_as_it_is_written_in_any_case() -> None:
    index = PrefixIndex(WORDS)
    assert np.sort(index.written("peTER")).tolist() == [1]
    assert np.sort(index.written("strasse")).tolist() == [6, 7]
    assert index.written("peo").tolist() == []
