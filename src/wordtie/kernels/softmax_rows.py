"""Row work of the fast losses, compiled by numba: scores become their gradient in place.

See `wordtie.kernels.augmented` for the formulas. Tokens come sorted by target, so that all tokens of one
target word stand together: the word's row of similarities is worked out once and stays in cache while
its tokens pass over it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from wordtie.kernels.numba_math import exp, load_bf16, load_fp32, store_bf16, store_fp32


def _make(load: Any, store: Any) -> Any:
    @njit(fastmath={"reassoc", "contract", "nsz", "arcp", "nnan"}, nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def similar_row(scores: Any, similar: Any, inverse_temperature: Any) -> Any:
        words = scores.shape[0]
        best = np.float32(-np.inf)
        for v in range(words):
            best = max(best, load(scores[v]))
        total = np.float32(0)
        for v in range(words):
            e = exp((load(scores[v]) - best) * inverse_temperature)
            similar[v] = e
            total += e
        inverse = np.float32(1) / total
        for v in range(words):
            similar[v] *= inverse
        return np.float64(best * inverse_temperature) + np.log(np.float64(total))

    @njit(fastmath={"reassoc", "contract", "nsz", "arcp", "nnan"}, nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def augmented_row(
        row: Any, bias: Any, target: Any, similar: Any, summed: Any, sharp: Any, inverse_temperature: Any, gamma: Any,
        predicted: Any
    ) -> Any:
        """One token: -> (cross-entropy, log-normaliser at temperature tau, similar . scores / tau)."""
        words = row.shape[0]
        best = np.float32(-np.inf)
        best_logit = np.float32(-np.inf)
        for v in range(words):
            z = load(row[v])
            best = max(best, z)
            best_logit = max(best_logit, z + bias[v])
        target_logit = load(row[target]) + bias[target]
        total = np.float32(0)
        total_soft = np.float32(0)
        dot = np.float32(0)
        for v in range(words):
            z = load(row[v])
            e = exp(z + bias[v] - best_logit)
            sharp[v] = e
            total += e
            total_soft += exp((z - best) * inverse_temperature)
            dot += similar[v] * z
            summed[v] += z
        inverse = np.float32(1) / total
        gamma_soft = gamma / total_soft
        for v in range(words):
            soft = exp((load(row[v]) - best) * inverse_temperature)
            row[v] = store(sharp[v] * inverse + gamma_soft * soft - gamma * similar[v])
        for v in range(predicted.shape[0]):
            predicted[v] += sharp[v] * inverse
        log_total = np.log(np.float64(total)) + np.float64(best_logit)
        log_total_soft = np.log(np.float64(total_soft)) + np.float64(best * inverse_temperature)
        return log_total - np.float64(target_logit), log_total_soft, np.float64(dot * inverse_temperature)

    @njit(parallel=True, fastmath={"reassoc", "contract", "nsz", "arcp", "nnan"}, cache=True)  # type: ignore[untyped-decorator]
    def augmented_rows(
        rows: Any, bias: Any, targets: Any, first: Any, inverse_temperature: Any, gamma: Any, through: Any,
        out: Any, predicted: Any
    ) -> None:
        """`rows`: N token rows, then M word rows. Word m owns tokens first[m] to first[m + 1].

        On return token rows hold d(total)/d(score); word rows hold d(total)/d(similarity score), or zero.
        out[m] = (cross-entropy, divergence) summed over the word's tokens; predicted[m], where it has
        columns, is the sum of their softmax(scores + bias): what the bias learns from (equation 3.1).
        """
        words = rows.shape[1]
        tokens = targets.shape[0]
        for m in prange(first.shape[0] - 1):
            similar = np.empty(words, np.float32)
            sharp = np.empty(words, np.float32)
            summed = np.zeros(words, np.float32)
            word_row = rows[tokens + m]
            log_normaliser = similar_row(word_row, similar, inverse_temperature)
            own = np.float32(0)
            for v in range(words):
                own += similar[v] * load(word_row[v])
            negative_entropy = np.float64(own * inverse_temperature) - log_normaliser
            nats = 0.0
            divergence = 0.0
            for n in range(first[m], first[m + 1]):
                ce, log_soft, dot = augmented_row(
                    rows[n], bias, targets[n], similar, summed, sharp, inverse_temperature, gamma, predicted[m]
                )
                nats += ce
                divergence += negative_entropy - dot + log_soft
            out[m, 0] = nats
            out[m, 1] = divergence
            count = np.float32(first[m + 1] - first[m])
            if through:
                mean = np.float32(0)
                for v in range(words):
                    summed[v] = (count * load(word_row[v]) - summed[v]) * inverse_temperature
                    mean += similar[v] * summed[v]
                for v in range(words):
                    word_row[v] = store(gamma * similar[v] * (summed[v] - mean))
            else:
                for v in range(words):
                    word_row[v] = store(np.float32(0))

    @njit(parallel=True, fastmath={"reassoc", "contract", "nsz", "arcp", "nnan"}, cache=True)  # type: ignore[untyped-decorator]
    def cross_entropy_rows(rows: Any, bias: Any, targets: Any, out: Any) -> None:
        """Token rows become softmax(scores + bias); out[n] is the token's cross-entropy."""
        words = rows.shape[1]
        for n in prange(rows.shape[0]):
            row = rows[n]
            best = np.float32(-np.inf)
            for v in range(words):
                best = max(best, load(row[v]) + bias[v])
            target_logit = load(row[targets[n]]) + bias[targets[n]]
            sharp = np.empty(words, np.float32)
            total = np.float32(0)
            for v in range(words):
                e = exp(load(row[v]) + bias[v] - best)
                sharp[v] = e
                total += e
            inverse = np.float32(1) / total
            for v in range(words):
                row[v] = store(sharp[v] * inverse)
            out[n] = np.log(np.float64(total)) + np.float64(best) - np.float64(target_logit)

    return augmented_rows, cross_entropy_rows


augmented_rows_bf16, cross_entropy_rows_bf16 = _make(load_bf16, store_bf16)
augmented_rows_fp32, cross_entropy_rows_fp32 = _make(load_fp32, store_fp32)
