"""The work of `wordtie.kernels.best_words` on float32 rows, compiled by numba.

Shapes: B rows, V words, K words wanted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordtie.kernels.numba_math import compiled, exp, larger, rank, value_of_rank

_BLOCK = 128
"""Words per block: larger blocks take longer to search, smaller ones are more to check."""
_LOWEST = np.int32(-(2**31))


@compiled
def find(logits: Any, bias: Any, log_p: Any, ids: Any, normaliser: Any, begin: Any, end: Any) -> None:
    """Search rows `begin` to `end`. The scores are only read: adding the bias twice is cheaper than writing them."""
    words, count = logits.shape[1], ids.shape[1]
    blocks = (words + _BLOCK - 1) // _BLOCK
    highest, best = np.empty(blocks, np.int32), np.empty(count, np.int32)
    for b in range(begin, end):
        row, chosen = logits[b], ids[b]
        top = _LOWEST
        for block in range(blocks):  # slices: an index that begins anywhere would keep the loop from being vectorised
            scores, biases = row[block * _BLOCK : (block + 1) * _BLOCK], bias[block * _BLOCK : (block + 1) * _BLOCK]
            order = _LOWEST
            for v in range(scores.shape[0]):
                order = larger(order, rank(scores[v] + biases[v]))
            highest[block] = order
            top = larger(top, order)
        largest = value_of_rank(top)
        total = np.float32(0)
        for v in range(words):
            total += exp(row[v] + bias[v] - largest)
        denominator = largest + np.float32(np.log(total))
        best[:] = _LOWEST
        chosen[:] = 0
        for block in range(blocks):
            if highest[block] > best[count - 1]:
                scores, biases = row[block * _BLOCK : (block + 1) * _BLOCK], bias[block * _BLOCK : (block + 1) * _BLOCK]
                for v in range(scores.shape[0]):
                    order = rank(scores[v] + biases[v])
                    if order > best[count - 1]:
                        place = count - 1
                        while place > 0 and best[place - 1] < order:
                            best[place], chosen[place] = best[place - 1], chosen[place - 1]
                            place -= 1
                        best[place], chosen[place] = order, block * _BLOCK + v
        for place in range(count):
            log_p[b, place] = value_of_rank(best[place]) - denominator
        normaliser[b] = denominator
