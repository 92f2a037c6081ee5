"""An n-gram model over a vocabulary, as a `NextWordModel` (`wordtie.models.next_word`).

Shapes: T steps, B streams, V words, K = order - 1 context lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordtie.data.batches import Ids
from wordtie.data.vocabulary import Vocabulary
from wordtie.ngrams.entropy import entropy as entropy_of
from wordtie.ngrams.trie import Doubles, NgramTrie, Rows


@dataclass(frozen=True)
class NgramModel:
    """A vocabulary, and the n-grams of its ids. The state is the rows of the last words, (B, K)."""

    vocabulary: Vocabulary
    trie: NgramTrie

    def initial_state(self, streams: int) -> Rows:
        """Return the state of streams at the start of a text."""
        return self.trie.start(streams)

    def score(self, ids_TB: Ids, state: Rows, entropy: bool = False) -> tuple[Doubles, Doubles | None, Rows]:
        """Return (log p of each id, entropies if asked, the state after them); 0 where the id is `PADDING`."""
        there_TB, rows_TBK, log_p_TB = self._read(ids_TB, state)
        if not entropy:
            return log_p_TB, None, rows_TBK[-1]
        entropy_TB = np.zeros_like(log_p_TB)
        entropy_TB[there_TB] = entropy_of(self.trie, rows_TBK[:-1][there_TB])
        return log_p_TB, entropy_TB, rows_TBK[-1]

    def distributions(self, ids_TB: Ids, state: Rows) -> tuple[Doubles, Rows]:
        """Return (p of every word before each id is read, (T, B, V); the state after them)."""
        _, rows_TBK, _ = self._read(ids_TB, state)
        p_NV = self.trie.probabilities(rows_TBK[:-1].reshape(ids_TB.size, -1))
        return p_NV.reshape(*ids_TB.shape, len(self.vocabulary)), rows_TBK[-1]

    def next(self, state: Rows) -> Doubles:
        """Return log p of every word, (B, V)."""
        p_BV = self.trie.probabilities(state)
        return np.log(p_BV, out=p_BV)

    def advance(self, ids_TB: Ids, state: Rows) -> Rows:
        """Return the state after these words."""
        return self._read(ids_TB, state)[1][-1]  # type: ignore[no-any-return]

    def select(self, state: Rows, streams: Sequence[int] | NDArray[np.intp]) -> Rows:
        """Return the state of these streams."""
        return state[np.asarray(streams, np.intp)]

    @property
    def context_classes(self) -> int:
        """Number of classes that `context_class` distinguishes."""
        return max(1, len(self.trie.levels))

    def context_class(self, ids_TB: Ids, state: Rows) -> NDArray[np.intp]:
        """Return how familiar the context before each id is, (T, B): how many of its last words were seen together in
        training, minus one."""
        _, rows_TBK, _ = self._read(ids_TB, state)
        known_TB: NDArray[np.intp] = (rows_TBK[:-1] >= 0).sum(-1)
        return np.maximum(known_TB - 1, 0)

    def _read(self, ids_TB: Ids, state: Rows) -> tuple[NDArray[np.bool_], Rows, Doubles]:
        """Return (which ids are words, the states before them and after the last, log p of each)."""
        there_TB = ids_TB >= 0
        p_TB, rows_TBK = self.trie.score(np.where(there_TB, ids_TB, 0).astype(np.int64), state)
        return there_TB, rows_TBK, np.where(there_TB, np.log(p_TB), 0.0)
