"""One pass of word2vec over a piece of text: skip-gram and CBOW with negative sampling (Mikolov et al. 2013).

A prediction has a query h, its target word and the negatives, with scores s = h . o. Its loss is

    -log sigmoid(s_target) - sum over negatives of log sigmoid(-s_negative),

all scores are taken first, then for each row o, in order: error += g o, o += g h, with g = alpha (label - sigmoid(s)).
Last, the input vectors that made h move by the error. h is a copy, so that all of this also holds where the input
and the output matrix are one and a word is input and output of the same prediction: its row then moves by both.

Threads run this at once on one pair of matrices without locks (Niu et al. 2011): the loops release the GIL.

Shapes: V words, P columns of a row (the vector size, padded with zeros to whole SIMD registers).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from wordtie.kernels.numba_math import exp
from wordtie.kernels.word2vec_draws import below, negative, next_sentence

FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
LONGEST_SENTENCE = 10_000
_ZERO, _ONE = np.float32(0), np.float32(1)


@njit(inline="always")
def draw_negatives(target: Any, wanted: Any, threshold: Any, alias: Any, state: Any, words: Any) -> Any:
    """Put the target and the negatives into `words`; a negative that is the target is left out: -> how many."""
    words[0] = target
    drawn = 1
    for _ in range(wanted):
        word = negative(state, threshold, alias)
        if word != target:
            words[drawn] = word
            drawn += 1
    return drawn


@njit(fastmath=FASTMATH, error_model="numpy", forceinline=True)
def predict(query: Any, output: Any, words: Any, drawn: Any, alpha: Any, step: Any, error: Any) -> Any:
    """Score `words` (the target first), move their output rows, and leave the query's step in `error`: -> loss."""
    width = query.shape[0]
    product = 1.0
    nats = 0.0
    for d in range(drawn):
        row = words[d]
        score = _ZERO
        for e in range(width):
            score += query[e] * output[row, e]
        right = score if d == 0 else -score
        small = exp(-abs(score))
        wrong = (small if right > _ZERO else _ONE) / (_ONE + small)
        step[d] = alpha * (wrong if d == 0 else -wrong)
        product *= 1.0 + np.float64(small)
        nats += np.float64(max(-right, _ZERO))
    for e in range(width):
        error[e] = _ZERO
    for d in range(drawn):
        row = words[d]
        g = step[d]
        for e in range(width):
            value = output[row, e]
            error[e] += g * value
            output[row, e] = value + g * query[e]
    return nats + np.log(product)


@njit(inline="always")
def sum_rows(matrix: Any, words: Any, first: Any, last: Any, middle: Any, total: Any) -> None:
    """Put the sum of the rows of the words from `first` to `last`, but that in the `middle`, into `total`."""
    for e in range(total.shape[0]):
        total[e] = _ZERO
    for j in range(first, last):
        if j != middle:
            row = np.int64(words[j])
            for e in range(total.shape[0]):
                total[e] += matrix[row, e]


@njit(inline="always")
def move_rows(matrix: Any, words: Any, first: Any, last: Any, middle: Any, step: Any) -> None:
    """Add `step` to the same rows."""
    for j in range(first, last):
        if j != middle:
            row = np.int64(words[j])
            for e in range(step.shape[0]):
                matrix[row, e] += step[e]


@njit(inline="always")
def scale_by(vector: Any, factor: Any) -> None:
    """Multiply in place."""
    for e in range(vector.shape[0]):
        vector[e] *= factor


@njit(fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
def skipgram(
    tokens: Any,
    eos: Any,
    keep: Any,
    threshold: Any,
    alias: Any,
    inputs: Any,
    output: Any,
    window: Any,
    wanted: Any,
    alpha_first: Any,
    alpha_last: Any,
    state: Any,
) -> Any:
    """Train on `tokens`, one vector of the window predicting the word in its middle: -> (loss, predictions)."""
    width = inputs.shape[1]
    sentence = np.empty(LONGEST_SENTENCE, np.int32)
    query, error = np.empty(width, np.float32), np.empty(width, np.float32)
    words, step = np.empty(wanted + 1, np.int64), np.empty(wanted + 1, np.float32)
    nats, predictions, position = 0.0, 0, 0
    while position < tokens.shape[0]:
        alpha = np.float32(alpha_first + (alpha_last - alpha_first) * position / tokens.shape[0])
        length, position = next_sentence(tokens, position, eos, keep, state, sentence)
        for i in range(length):
            reach = window - below(state, window)
            for j in range(max(0, i - reach), min(length, i + reach + 1)):
                if j == i:
                    continue
                drawn = draw_negatives(np.int64(sentence[i]), wanted, threshold, alias, state, words)
                source = np.int64(sentence[j])
                for e in range(width):
                    query[e] = inputs[source, e]
                nats += predict(query, output, words, drawn, alpha, step, error)
                predictions += 1
                for e in range(width):
                    inputs[source, e] += error[e]
    return nats, predictions


@njit(fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
def cbow(
    tokens: Any,
    eos: Any,
    keep: Any,
    threshold: Any,
    alias: Any,
    inputs: Any,
    output: Any,
    window: Any,
    wanted: Any,
    alpha_first: Any,
    alpha_last: Any,
    state: Any,
    mean: Any,
) -> Any:
    """Train on `tokens`, the mean or sum of the window predicting the word in its middle: -> (loss, predictions).

    As in gensim and Mikolov's word2vec, each vector of a mean moves by the whole error; each vector of a sum
    moves by its share of it.
    """
    width = inputs.shape[1]
    sentence = np.empty(LONGEST_SENTENCE, np.int32)
    query, error = np.empty(width, np.float32), np.empty(width, np.float32)
    words, step = np.empty(wanted + 1, np.int64), np.empty(wanted + 1, np.float32)
    nats, predictions, position = 0.0, 0, 0
    while position < tokens.shape[0]:
        alpha = np.float32(alpha_first + (alpha_last - alpha_first) * position / tokens.shape[0])
        length, position = next_sentence(tokens, position, eos, keep, state, sentence)
        for i in range(length):
            reach = window - below(state, window)
            first, last = max(0, i - reach), min(length, i + reach + 1)
            if last - first < 2:
                continue
            share = _ONE / np.float32(last - first - 1)
            sum_rows(inputs, sentence, first, last, i, query)
            drawn = draw_negatives(np.int64(sentence[i]), wanted, threshold, alias, state, words)
            scale_by(query, share if mean else _ONE)
            nats += predict(query, output, words, drawn, alpha, step, error)
            predictions += 1
            scale_by(error, _ONE if mean else share)
            move_rows(inputs, sentence, first, last, i, error)
    return nats, predictions
