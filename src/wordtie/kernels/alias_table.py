"""Walker's alias table: draw from V words in constant time (Walker 1977; Vose 1991)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def alias_table(share_V: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Vose's construction: V cells of equal weight, each shared by at most two words; the shares' mean is one.

    Returns the share of each cell that its own word has, (V,), and the word that has the rest, (V,).
    """
    words = len(share_V)
    left = share_V.tolist()
    own, alias = [1.0] * words, list(range(words))
    small = [v for v in range(words) if left[v] < 1]
    large = [v for v in range(words) if left[v] >= 1]
    while small and large:
        cell, giver = small.pop(), large[-1]
        own[cell], alias[cell] = left[cell], giver
        left[giver] -= 1 - left[cell]
        if left[giver] < 1:
            small.append(large.pop())
    for cell in small:  # what rounding left over; a word without any share must stay impossible
        if share_V[cell] == 0:
            own[cell], alias[cell] = 0.0, int(share_V.argmax())
    return np.array(own), np.array(alias, dtype=np.int64)
