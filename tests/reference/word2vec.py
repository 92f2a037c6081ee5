"""word2vec written out, one prediction after the other, in lists of floats (Mikolov et al. 2013, gulordava-2018).

The choices (which words are kept, how far a window reaches, which negatives) are handed in, and so shared with what is
tested; nothing else is. A prediction is (the context words' ids, target, negatives).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Row = list[float]
Matrix = list[Row]


@dataclass
class Prediction:
    context: list[int]
    target: int
    negatives: list[int]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def dot(a: Row, b: Row) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def windows(sentence: Sequence[int], reaches: Iterator[int]) -> Iterator[tuple[list[int], int]]:
    """(context, target) of each word, whose window reaches as far as the next of `reaches`."""
    for place, target in enumerate(sentence):
        reach = next(reaches)
        context = [word for other, word in enumerate(sentence) if other != place and abs(other - place) <= reach]
        yield context, target


def loss_of(query: Row, output: Matrix, target: int, negatives: Sequence[int]) -> float:
    return -math.log(sigmoid(dot(query, output[target]))) - sum(
        math.log(sigmoid(-dot(query, output[word]))) for word in negatives
    )


def predict(query: Row, output: Matrix, target: int, negatives: Sequence[int], alpha: float) -> tuple[float, Row]:
    """Move the output rows by one step of gradient descent; the loss before it, and the query's own step."""
    words = [target, *negatives]
    loss = loss_of(query, output, target, negatives)
    slopes = [alpha * ((place == 0) - sigmoid(dot(query, output[word]))) for place, word in enumerate(words)]
    error = [0.0] * len(query)
    for word, slope in zip(words, slopes, strict=True):
        before = list(output[word])
        error = [e + slope * o for e, o in zip(error, before, strict=True)]
        output[word] = [o + slope * q for o, q in zip(before, query, strict=True)]
    return loss, error


def add(row: Row, step: Row, scale: float = 1.0) -> Row:
    return [x + scale * y for x, y in zip(row, step, strict=True)]


def step(made: Prediction, inputs: Matrix, output: Matrix, alpha: float, mean: bool) -> float:
    """One prediction of CBOW, or of skip-gram, whose context is one word; `inputs` and `output` may be one matrix."""
    query = [0.0] * len(inputs[0])
    for word in made.context:
        query = add(query, inputs[word])
    share = 1 / len(made.context)
    if mean:
        query = [share * q for q in query]
    loss, error = predict(query, output, made.target, made.negatives, alpha)
    for word in made.context:
        inputs[word] = add(inputs[word], error, 1.0 if mean else share)
    return loss


def linear_block(
    made: Sequence[Prediction], matrix: Matrix, linear: Matrix, alpha: float, rate: float, mean: bool
) -> float:
    """A block of predictions of tied+L: h = (sum of x) L, the output rows moving at once, x and L at the end."""
    size = len(linear)
    words = sorted({word for each in made for word in [*each.context, each.target]})
    start = {word: [dot(matrix[word], [linear[e][f] for e in range(size)]) for f in range(size)] for word in words}
    before = {word: list(matrix[word]) for word in words}
    now = {word: list(row) for word, row in start.items()}
    scale = sum(x * x for row in linear for x in row) / size
    loss = 0.0
    for each in made:
        query = [0.0] * size
        for word in each.context:
            query = add(query, now[word])
        share = 1 / len(each.context)
        if mean:
            query = [share * q for q in query]
        nats, error = predict(query, matrix, each.target, each.negatives, alpha)
        loss += nats
        for word in each.context:
            now[word] = add(now[word], error, scale if mean else scale * share)
    moved = {word: [(n - s) / scale for n, s in zip(now[word], start[word], strict=True)] for word in words}
    for word in words:
        matrix[word] = add(matrix[word], [dot(moved[word], linear[e]) for e in range(size)])
    for e in range(size):
        for f in range(size):
            linear[e][f] += rate / len(made) * sum(before[word][e] * moved[word][f] for word in words)
    return loss
