"""The words of a vocabulary that begin with given letters, found by binary search.

A prefix in lower case finds words in any case, one with a capital in it only words written so, as people who type
expect: `pe` finds `people` and `Peter`, `Pe` only `Peter`.

Shapes: V words, K words found.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class PrefixIndex:
    """Words with case folded, in alphabetical order, and the id of each.

    >>> index = PrefixIndex(["the", "Peter", "people", "pea"])
    >>> index.ids("pe").tolist(), index.ids("Pe").tolist(), index.ids("x").tolist()
    ([1, 2, 3], [1], [])
    """

    def __init__(self, words: Sequence[str]) -> None:
        """Take the words in the order of their ids."""
        self.words = words
        folded = [word.casefold() for word in words]
        self.longest = max(map(len, folded), default=0)
        """Letters of the longest word: nothing longer is a prefix."""
        order = sorted(range(len(words)), key=folded.__getitem__)
        self._folded_V = [folded[number] for number in order]
        self._id_V = np.array(order, np.int64)

    def ids(self, prefix: str) -> NDArray[np.int64]:
        """Return the ids of the words that begin with the prefix, (K,), ascending; of all words if it is empty."""
        folded = prefix.casefold()
        found_K = np.sort(self._id_V[slice(*self._span(folded))])
        if prefix == prefix.lower():
            return found_K
        exact = [number for number in found_K.tolist() if self.words[number].startswith(prefix)]
        return np.array(exact, np.int64)

    def has(self, prefix: str) -> bool:
        """Return whether any word begins with the prefix."""
        first, end = self._span(prefix.casefold())
        return end > first if prefix == prefix.lower() else len(self.ids(prefix)) > 0

    def written(self, word: str) -> NDArray[np.int64]:
        """Return the ids of the word in any case, (K,)."""
        folded = word.casefold()
        return self._id_V[bisect_left(self._folded_V, folded) : bisect_right(self._folded_V, folded)]

    def _span(self, folded: str) -> tuple[int, int]:
        """Return the start and end of the words that begin with the folded prefix, in alphabetical order."""
        first = bisect_left(self._folded_V, folded)
        return first, bisect_right(self._folded_V, folded, first, key=lambda word: word[: len(folded)])
