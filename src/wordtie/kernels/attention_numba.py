"""Additive attention's work on (B, S, A) numbers, compiled by numba: one pass, without a (B, S, A) array of its own.

Sentences are distributed over threads. What a sentence adds to the gradient of `score` is summed in the order of the
sentences, so that the result is the same for any number of threads.

Shapes: B sentences, S source positions, A units of attention.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from torch import Tensor

from wordtie.kernels.backend import in_parts
from wordtie.kernels.numba_math import compiled, exp

_ONE = np.float32(1)
_TWO = np.float32(2)
_HIGHEST = np.float32(87)


@njit(inline="always", error_model="numpy")
def _tanh(x: Any) -> Any:
    return _TWO / (_ONE + exp(min(-_TWO * x, _HIGHEST))) - _ONE


@compiled
def _scores(keys: Any, query: Any, score: Any, out: Any, begin: Any, end: Any) -> None:
    states = query.shape[0] // keys.shape[0]
    for b in range(begin, end):
        asked, sentence = query[b], keys[b // states]
        for s in range(keys.shape[1]):
            row = sentence[s]
            total = np.float32(0)
            for a in range(row.shape[0]):
                total += score[a] * _tanh(row[a] + asked[a])
            out[b, s] = total


@compiled
def _backward(
    keys: Any, query: Any, score: Any, d_scores: Any, d_keys: Any, d_score: Any, d_query: Any, begin: Any, end: Any
) -> None:
    for b in range(begin, end):
        asked, d_asked, d_own = query[b], d_query[b], d_score[b]
        for s in range(keys.shape[1]):
            row, d_row, d = keys[b, s], d_keys[b, s], d_scores[b, s]
            for a in range(row.shape[0]):
                activation = _tanh(row[a] + asked[a])
                inner = d * score[a] * (_ONE - activation * activation)
                d_row[a] += inner
                d_asked[a] += inner
                d_own[a] += d * activation


def scores(keys_BSA: Tensor, query_BA: Tensor, score_A: Tensor) -> Tensor:
    """Return tanh(keys + query) . score, (B, S). With fewer keys, each serves equally many consecutive queries."""
    out = keys_BSA.new_empty(len(query_BA), keys_BSA.shape[1])
    arrays = [each.detach().numpy() for each in (keys_BSA, query_BA, score_A, out)]
    in_parts(lambda begin, end: _scores(*arrays, begin, end), len(out))
    return out


def backward(
    keys_BSA: Tensor, query_BA: Tensor, score_A: Tensor, d_scores_BS: Tensor, d_keys_BSA: Tensor, d_score_A: Tensor
) -> Tensor:
    """Return d query (B, A); add to `d_keys_BSA` and `d_score_A`."""
    d_query, d_score = (query_BA.new_zeros(query_BA.shape) for _ in range(2))
    operands = (keys_BSA, query_BA, score_A, d_scores_BS, d_keys_BSA, d_score, d_query)
    arrays = [each.detach().numpy() for each in operands]
    in_parts(lambda begin, end: _backward(*arrays, begin, end), len(d_query))
    d_score_A += d_score.sum(0)
    return d_query
