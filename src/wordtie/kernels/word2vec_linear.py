"""word2vec with one word matrix X and a linear map L between the input vectors and the query: h = (sum of x) L.

A product with L for every prediction would cost ten times all the rest. But words repeat, and h is a sum of rows
x L: so the text is taken in blocks of some thousand words. The rows of a block's distinct words are multiplied by L at
once, Y = X L, and its predictions only add up rows of Y. Each prediction's error moves the rows of Y that made its
query, scaled by c = |L|^2 / E, as it would if L were a rotation times the root of c: without that, a word that comes
often would be moved a hundred times from one place. At the block's end, what the rows of Y have gathered goes back:

    A = (Y at the end - Y at the start) / c,   X += A L^T,   L += rate / predictions * X^T A.

The output rows move at every prediction, as in `wordtie.kernels.word2vec`.

Shapes: V words, D distinct words of a block, E vector size, P columns (E padded with zeros).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from wordtie.kernels.word2vec import FASTMATH, draw_negatives, move_rows, predict, scale_by, sum_rows
from wordtie.kernels.word2vec_draws import below, next_sentence

_ONE = np.float32(1)


@njit(fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
def gather(
    tokens: Any,
    first: Any,
    eos: Any,
    keep: Any,
    state: Any,
    matrix: Any,
    place: Any,
    distinct: Any,
    rows: Any,
    block: Any,
    ends: Any,
) -> Any:
    """Take the next block: whole sentences until there are enough words: -> (words, sentences, distinct, position).

    `block` has the words as numbers into `distinct`, `rows` their vectors, `ends` where each sentence ends.
    `place` is -1 for every word, before and after.
    """
    length, sentences, found, position = 0, 0, 0, first
    limit = block.shape[0]
    while position < tokens.shape[0] and length < limit:
        kept, position = next_sentence(tokens, position, eos, keep, state, block[length:])
        if kept == 0:
            continue
        for i in range(length, length + kept):
            word = block[i]
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


@njit(fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
def skipgram_block(
    block: Any,
    ends: Any,
    distinct: Any,
    queries: Any,
    matrix: Any,
    threshold: Any,
    alias: Any,
    window: Any,
    wanted: Any,
    alpha: Any,
    scale: Any,
    state: Any,
) -> Any:
    """The predictions of a block: moves `matrix` and `queries`: -> (loss, predictions)."""
    width = matrix.shape[1]
    query, error = np.empty(width, np.float32), np.empty(width, np.float32)
    words, step = np.empty(wanted + 1, np.int64), np.empty(wanted + 1, np.float32)
    nats, predictions, start = 0.0, 0, 0
    for end in ends:
        for i in range(start, end):
            reach = window - below(state, window)
            target = np.int64(distinct[block[i]])
            for j in range(max(start, i - reach), min(end, i + reach + 1)):
                if j == i:
                    continue
                drawn = draw_negatives(target, wanted, threshold, alias, state, words)
                source = np.int64(block[j])
                for e in range(width):
                    query[e] = queries[source, e]
                nats += predict(query, matrix, words, drawn, alpha, step, error)
                predictions += 1
                for e in range(width):
                    queries[source, e] += scale * error[e]
        start = end
    return nats, predictions


@njit(fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
def cbow_block(
    block: Any,
    ends: Any,
    distinct: Any,
    queries: Any,
    matrix: Any,
    threshold: Any,
    alias: Any,
    window: Any,
    wanted: Any,
    alpha: Any,
    scale: Any,
    state: Any,
    mean: Any,
) -> Any:
    """As `skipgram_block`, with the mean or sum of the window predicting the word in its middle."""
    width = matrix.shape[1]
    query, error = np.empty(width, np.float32), np.empty(width, np.float32)
    words, step = np.empty(wanted + 1, np.int64), np.empty(wanted + 1, np.float32)
    nats, predictions, start = 0.0, 0, 0
    for end in ends:
        for i in range(start, end):
            reach = window - below(state, window)
            first, last = max(start, i - reach), min(end, i + reach + 1)
            if last - first < 2:
                continue
            share = _ONE / np.float32(last - first - 1)
            sum_rows(queries, block, first, last, i, query)
            drawn = draw_negatives(np.int64(distinct[block[i]]), wanted, threshold, alias, state, words)
            scale_by(query, share if mean else _ONE)
            nats += predict(query, matrix, words, drawn, alpha, step, error)
            predictions += 1
            scale_by(error, scale if mean else scale * share)
            move_rows(queries, block, first, last, i, error)
        start = end
    return nats, predictions


@njit(fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
def scatter(matrix: Any, distinct: Any, steps: Any) -> None:
    """Add the rows of `steps` to those of the distinct words."""
    for d in range(distinct.shape[0]):
        row = np.int64(distinct[d])
        for e in range(matrix.shape[1]):
            matrix[row, e] += steps[d, e]
