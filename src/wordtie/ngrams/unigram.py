"""Words drawn without regard to context: what any language model must beat.

Maximum likelihood, p(w) = c(w) / N, except that a word of the vocabulary that the training text never shows is
counted as if it had been seen once, so that every text has a finite perplexity. Where each word was seen, as in Penn
Treebank, this is maximum likelihood to the digit.

Shapes: N tokens, V words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordtie.data.batches import Ids
from wordtie.ngrams.counts import checked_ids


@dataclass(frozen=True)
class Unigram:
    """A fitted model; `Unigram.fit` makes one."""

    probability: NDArray[np.float64]
    """(V,), sums to one."""

    @classmethod
    def fit(cls, ids_N: Ids, vocabulary_size: int) -> Unigram:
        """Count one stream of token ids.

        Raises `DataError` for an empty text and for ids outside the vocabulary.

        >>> Unigram.fit(np.array([0, 0, 1]), vocabulary_size=3).probability.tolist()
        [0.5, 0.25, 0.25]
        """
        ids_N = checked_ids(ids_N, vocabulary_size)
        count_V = np.maximum(np.bincount(ids_N, minlength=vocabulary_size), 1)
        return cls(count_V / count_V.sum())

    def log_probabilities(self, ids_N: Ids) -> NDArray[np.float64]:
        """Return the log (N,) of each token's probability, in nats.

        Raises `DataError` for an empty text and for ids outside the vocabulary.
        """
        ids_N = checked_ids(ids_N, len(self.probability))
        logs_V: NDArray[np.float64] = np.log(self.probability)
        return logs_V[ids_N]
