"""word2vec with one word matrix X and a linear map L between the input vectors and the query: h = (sum of x) L.

A product with L for every prediction would cost ten times all the rest. But words repeat, and h is a sum of rows
x L: so the text is taken in blocks of some thousand words. The rows of a block's distinct words are multiplied by L at
once, Y = X L, and its predictions only add up rows of Y. Each prediction's error moves the rows of Y that made its
query, scaled by c = |L|^2 / E, as it would if L were a rotation times the root of c: without that, a word that comes
often would be moved a hundred times from one place. At the block's end, what the rows of Y have gathered goes back:

    A = (Y at the end - Y at the start) / c,   X += A L^T,   L += rate / predictions * X^T A.

The output rows move at every prediction, as in `wordtie.kernels.word2vec.negative_sampling`.

Threads share one block, each with other sentences of it. Had each a block of its own, each would move a frequent
word all the way to where the block wants it, and the word would go that way as many times as there are threads.

Shapes: V words, D distinct words of a block, E vector size, P columns (E padded with zeros).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordtie.kernels.numba_math import compiled
from wordtie.kernels.word2vec.draws import next_sentence
from wordtie.kernels.word2vec.negative_sampling import learn, workspace


@compiled
def gather(
    tokens: Any, first: Any, eos: Any, keep: Any, state: Any, matrix: Any, place: Any, distinct: Any, rows: Any,
    words: Any, block: Any, ends: Any,
) -> Any:  # fmt: skip
    """Take the next block: whole sentences until there are enough words: -> (words, sentences, distinct, position).

    `words` are the block's, `block` the same as numbers into `distinct`, `rows` the vectors of `distinct`, `ends`
    where each sentence ends. `place` is -1 for every word, before and after.
    """
    length, sentences, found, position = 0, 0, 0, first
    while position < tokens.shape[0] and length < words.shape[0]:
        kept, position = next_sentence(tokens, position, eos, keep, state, words[length:])
        if kept == 0:
            continue
        for i in range(length, length + kept):
            word = words[i]
            if place[word] < 0:
                place[word] = found
                distinct[found] = word
                for e in range(rows.shape[1]):
                    rows[found, e] = matrix[np.int64(word), e]
                found += 1
            block[i] = place[word]
        length += kept
        ends[sentences] = length
        sentences += 1
    for d in range(found):
        place[distinct[d]] = -1
    return length, sentences, found, position


@compiled
def train_part(
    block: Any, words: Any, start: Any, ends: Any, queries: Any, matrix: Any, draws: Any, alpha: Any, scale: Any,
    state: Any, one: Any, mean: Any,
) -> Any:  # fmt: skip
    """Make the predictions of a block's sentences from the place `start` on: move `matrix` and `queries`, Y's rows.

    -> (loss, predictions)
    """
    work = workspace(matrix.shape[1], draws[1])
    nats, predictions = 0.0, 0
    for end in ends:
        found = learn(block, words, start, end, queries, matrix, draws, alpha, scale, state, work, one, mean)
        nats += found[0]
        predictions += found[1]
        start = end
    return nats, predictions


@compiled
def scatter(matrix: Any, distinct: Any, steps: Any) -> None:
    """Add the rows of `steps` to those of the distinct words."""
    for d in range(distinct.shape[0]):
        row = np.int64(distinct[d])
        for e in range(matrix.shape[1]):
            matrix[row, e] += steps[d, e]
