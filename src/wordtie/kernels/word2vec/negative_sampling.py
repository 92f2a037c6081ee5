"""word2vec: skip-gram and CBOW with negative sampling (Mikolov et al. 2013), a sentence at a time.

A prediction has a query h, its target word and the negatives, with scores s = h . o. Its loss is

    -log sigmoid(s_target) - sum over negatives of log sigmoid(-s_negative),

all scores are taken first, then for each row o, in order: error += g o, o += g h, with g = alpha (label - sigmoid(s)).
Last, the rows that made h move by the error. h is a copy, so that all of this also holds where the input
and the output matrix are one and a word is input and output of the same prediction: its row then moves by both.

Threads run this at once on one pair of matrices without locks (Niu et al. 2011): the loops release the GIL.

Shapes: V words, P columns of a row (the vector size, padded with zeros to whole SIMD registers).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordtie.kernels.numba_math import compiled, exp, inlined
from wordtie.kernels.word2vec.draws import below, negative, next_sentence

LONGEST_SENTENCE = 10_000
_ZERO, _ONE = np.float32(0), np.float32(1)


@inlined
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


@inlined
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


@inlined
def sum_rows(matrix: Any, words: Any, first: Any, last: Any, middle: Any, total: Any) -> None:
    """Put the sum of the rows of the words from `first` to `last`, except the one in the `middle`, into `total`."""
    for e in range(total.shape[0]):
        total[e] = _ZERO
    for j in range(first, last):
        if j != middle:
            row = np.int64(words[j])
            for e in range(total.shape[0]):
                total[e] += matrix[row, e]


@inlined
def move_rows(matrix: Any, words: Any, first: Any, last: Any, middle: Any, step: Any) -> None:
    """Add `step` to the rows that `sum_rows` sums."""
    for j in range(first, last):
        if j != middle:
            row = np.int64(words[j])
            for e in range(step.shape[0]):
                matrix[row, e] += step[e]


@inlined
def scale_by(vector: Any, factor: Any) -> None:
    """Multiply a vector by a factor, in place."""
    for e in range(vector.shape[0]):
        vector[e] *= factor


@inlined
def workspace(width: Any, wanted: Any) -> Any:
    """Return what a prediction writes to: its query, the query's step, its words, and the steps of their rows."""
    query, error = np.empty(width, np.float32), np.empty(width, np.float32)
    return query, error, np.empty(wanted + 1, np.int64), np.empty(wanted + 1, np.float32)


@inlined
def skipgram(
    rows: Any, targets: Any, start: Any, end: Any, inputs: Any, output: Any, draws: Any, alpha: Any, scale: Any,
    state: Any, work: Any,
) -> Any:  # fmt: skip
    """Learn the sentence from `start` to `end`: a row of a window predicts its middle word: -> (loss, predictions).

    Each place of the text has its row of `inputs` in `rows` and its word in `targets`; `inputs` move by `scale` times
    the error. `draws` are (window, negatives, and their alias table).
    """
    window, wanted, threshold, alias = draws
    query, error, words, step = work
    nats, predictions = 0.0, 0
    for i in range(start, end):
        reach = window - below(state, window)
        for j in range(max(start, i - reach), min(end, i + reach + 1)):
            if j == i:
                continue
            drawn = draw_negatives(np.int64(targets[i]), wanted, threshold, alias, state, words)
            source = np.int64(rows[j])
            for e in range(query.shape[0]):
                query[e] = inputs[source, e]
            nats += predict(query, output, words, drawn, alpha, step, error)
            predictions += 1
            for e in range(query.shape[0]):
                inputs[source, e] += scale * error[e]
    return nats, predictions


@inlined
def cbow(
    rows: Any, targets: Any, start: Any, end: Any, inputs: Any, output: Any, draws: Any, alpha: Any, scale: Any,
    state: Any, work: Any, mean: Any,
) -> Any:  # fmt: skip
    """Learn like `skipgram`, but the mean or sum of the window predicts the word in its middle.

    As in gensim and Mikolov's word2vec, each vector of a mean moves by the whole error; each vector of a sum
    moves by its share of it.
    """
    window, wanted, threshold, alias = draws
    query, error, words, step = work
    nats, predictions = 0.0, 0
    for i in range(start, end):
        reach = window - below(state, window)
        first, last = max(start, i - reach), min(end, i + reach + 1)
        if last - first < 2:
            continue
        share = _ONE / np.float32(last - first - 1)
        sum_rows(inputs, rows, first, last, i, query)
        drawn = draw_negatives(np.int64(targets[i]), wanted, threshold, alias, state, words)
        scale_by(query, share if mean else _ONE)
        nats += predict(query, output, words, drawn, alpha, step, error)
        predictions += 1
        scale_by(error, scale if mean else scale * share)
        move_rows(inputs, rows, first, last, i, error)
    return nats, predictions


@inlined
def learn(
    rows: Any, targets: Any, start: Any, end: Any, inputs: Any, output: Any, draws: Any, alpha: Any, scale: Any,
    state: Any, work: Any, one: Any, mean: Any,
) -> Any:  # fmt: skip
    """Learn a sentence, by `skipgram` if `one` vector is to predict, else by `cbow`."""
    if one:
        return skipgram(rows, targets, start, end, inputs, output, draws, alpha, scale, state, work)
    return cbow(rows, targets, start, end, inputs, output, draws, alpha, scale, state, work, mean)


@compiled
def train(
    tokens: Any, eos: Any, keep: Any, inputs: Any, output: Any, draws: Any, alphas: Any, state: Any, one: Any, mean: Any
) -> Any:
    """Train on `tokens`, at a rate that goes from the first of `alphas` to the second: -> (loss, predictions)."""
    sentence = np.empty(LONGEST_SENTENCE, np.int32)
    work = workspace(inputs.shape[1], draws[1])
    nats, predictions, position = 0.0, 0, 0
    while position < tokens.shape[0]:
        alpha = np.float32(alphas[0] + (alphas[1] - alphas[0]) * position / tokens.shape[0])
        length, position = next_sentence(tokens, position, eos, keep, state, sentence)
        found = learn(sentence, sentence, 0, length, inputs, output, draws, alpha, _ONE, state, work, one, mean)
        nats += found[0]
        predictions += found[1]
    return nats, predictions
