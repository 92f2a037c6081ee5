"""How often the next word is among the k most likely.

Words of the same probability are ordered by chance: if g words are likelier than the one that comes, and e words, it
among them, are as likely, it is among the first k with probability

    min(1, max(0, (k - g) / e))

N-grams give most words the same probability, so counting such a word as found, or as not found, would be far off.

Shapes: N tokens, V words, K numbers of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wordtie.data.batches import Ids
from wordtie.models.mixture import VALUES_AT_ONCE
from wordtie.models.next_word import Nats, NextWordModel


def hits(model: NextWordModel[Any], ids_N: Ids, state: Any, among: Sequence[int]) -> Nats:
    """Return the expected number of next words among the first k, for each k of `among`: (K,). The text is one stream,
    which is in `state`."""
    found_K, firsts_K = np.zeros(len(among)), np.asarray(among, np.float64)
    steps = max(1, VALUES_AT_ONCE // len(model.vocabulary))
    for first in range(0, len(ids_N), steps):
        ids_T1 = np.asarray(ids_N[first : first + steps], np.int64)[:, None]
        p_T1V, state = model.distributions(ids_T1, state)
        p_TV = p_T1V[:, 0]
        own_T1 = np.take_along_axis(p_TV, ids_T1, 1)
        likelier_T1 = (p_TV > own_T1).sum(1)[:, None]
        alike_T1 = (p_TV == own_T1).sum(1)[:, None]
        found_K += np.clip((firsts_K - likelier_T1) / alike_T1, 0, 1).sum(0)
    return found_K
