"""The words that a model knows, and the id of each.

Words are numbered by decreasing count, ties by alphabet, so that the same text gives the same ids on every machine
and small ids are frequent words. Two words are always there: `<unk>`, which replaces every word left out, and
`<eos>`, which closes a sentence. A text that writes `<unk>` itself, as Penn Treebank and WikiText-2 do, means this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from wordtie.data.prefixes import PrefixIndex
from wordtie.errors import DataError

UNK = "<unk>"
EOS = "<eos>"


class Vocabulary:
    """Words and their ids: `words[id(word)] == word` for every word that is known.

    >>> vocabulary = Vocabulary.from_counts({"the": 3, "cat": 1, "a": 1, "<eos>": 2}, size=4)
    >>> vocabulary.words
    ('the', '<eos>', '<unk>', 'a')
    >>> vocabulary.encode(["the", "cat"]).tolist()
    [0, 2]
    """

    def __init__(self, words: Sequence[str]) -> None:
        """Take the words in the order of their ids. Raises `ValueError` for a double or a missing special word."""
        self.words = tuple(words)
        self._ids = {word: number for number, word in enumerate(self.words)}
        if len(self._ids) != len(self.words):
            raise ValueError("a vocabulary names each word once")
        if UNK not in self._ids or EOS not in self._ids:
            raise ValueError(f"a vocabulary needs {UNK} and {EOS}")
        self.unk_id = self._ids[UNK]
        self.eos_id = self._ids[EOS]

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], size: int | None = None, min_count: int = 1) -> Vocabulary:
        """Build from word counts: words of at least `min_count`, and of those the `size - 2` most frequent.

        `size` includes `<unk>` and `<eos>`, which are never dropped; `<unk>` is ranked by the count of all that it
        replaces. Raises `DataError` if the text has fewer words than `size`, or none as often as `min_count`.
        """
        known = [word for word, count in counts.items() if count >= min_count and word not in (UNK, EOS)]
        known.sort(key=lambda word: (-counts[word], word))
        if not known and (most := max((n for word, n in counts.items() if word not in (UNK, EOS)), default=0)):
            raise DataError(f"no word comes {min_count:,} times: set data.min_count to at most {most:,}")
        if size is not None and size > len(known) + 2:
            seen = "" if min_count == 1 else f" seen at least {min_count} times"
            raise DataError(
                f"a vocabulary of {size:,} is larger than the text, which has {len(known) + 2:,} distinct words{seen}, "
                f"{UNK} and {EOS} included: leave data.vocabulary_size out, or set it lower, so that {UNK} is learnt"
            )
        if size is not None:
            del known[max(size - 2, 0) :]
        rank = {word: counts[word] for word in known}
        rank[EOS] = counts.get(EOS, 0)
        rank[UNK] = sum(counts.values()) - sum(rank.values())
        return cls(sorted(rank, key=lambda word: (-rank[word], word)))

    def extended(self, counts: Mapping[str, int], size: int | None = None, min_count: int = 1) -> Vocabulary:
        """Return these words with their ids, followed by the new words of a text, numbered by decreasing count.

        `size` is that of the whole; words that occur fewer than `min_count` times are left out. Raises `DataError` for
        a size below that of these words.

        >>> Vocabulary(["the", "<eos>", "<unk>"]).extended({"the": 3, "dog": 1, "cat": 2}).words
        ('the', '<eos>', '<unk>', 'cat', 'dog')
        """
        new = [word for word, count in counts.items() if count >= min_count and word not in self._ids]
        new.sort(key=lambda word: (-counts[word], word))
        if size is not None and size < len(self):
            raise DataError(f"a vocabulary of {size:,} has no room for the {len(self):,} words that it extends")
        return Vocabulary([*self.words, *new[: None if size is None else size - len(self)]])

    def id(self, word: str) -> int:
        """Return the word's id; that of `<unk>` for a word that is not known."""
        return self._ids.get(word, self.unk_id)

    def encode(self, words: Iterable[str]) -> NDArray[np.int32]:
        """Return the ids of the words, (N,)."""
        return np.fromiter(map(self._ids.get, words, repeat(self.unk_id)), np.int32)

    @cached_property
    def prefixes(self) -> PrefixIndex:
        """Index of the words by their first letters; built on first use."""
        return PrefixIndex(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.words == other.words

    def __hash__(self) -> int:
        return hash(self.words)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words)"
