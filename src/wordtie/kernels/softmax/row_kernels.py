"""Row work of the fast losses, compiled by numba: scores become their gradient in place.

See `wordtie.kernels.softmax.loss` for the formulas; `rows_torch` is the same in torch. Rows are float32, or
bfloat16 seen as uint16: one source, a version of machine code each. Tokens come sorted by target, so that all tokens
of one target word stand together: the word's row of similarities is worked out once and stays in cache while its
tokens pass over it. A row with a score that is not finite gives a NaN loss and NaN gradients.

With y the similarities, r = sum over the word's tokens of (s - z), l the log-normalisers at temperature tau, the
divergence of a word's c tokens is y . r / tau + sum l(z / tau) - c l(s / tau). The cross-entropy between similarities
and prediction is the same without the similarities' own part: r = - sum z, and no c l(s / tau).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordtie.kernels.numba_math import compiled, exp, inlined, larger, load, rank, smaller, store, value_of_rank

_TWENTY = np.float32(20)
GROUP = 16
"""Rows of cross-entropy, or words with all their rows, that are summed together, whichever thread works on them."""
_APART = 128
"""Numbers kept free on either side of a block that loops write: if it were nearer to what they read, the compiled loop
would go word by word, not by vectors, and the bits of a small vocabulary's sums would depend on memory addresses."""


@inlined
def _block(words: Any) -> Any:
    """Return memory to work in, (words,)."""
    return np.empty(words + 2 * _APART, np.float32)[_APART : words + _APART]


@inlined
def _order(row: Any, bias: Any, v: Any) -> Any:
    """Return the rank of a score, or of score + bias."""
    if bias is None:
        return rank(row[v])
    return rank(load(row[v]) + bias[v])


@inlined
def _highest(row: Any, bias: Any) -> Any:
    """Return the maximum of a row's scores, or of score + bias if there is one; NaN if any is NaN or infinite."""
    high = low = _order(row, bias, 0)
    for v in range(row.shape[0]):
        order = _order(row, bias, v)
        high = larger(high, order)
        low = smaller(low, order)
    if not (np.isfinite(value_of_rank(high)) and np.isfinite(value_of_rank(low))):
        return np.float32(np.nan)
    return value_of_rank(high)


@inlined
def _spoil(row: Any) -> None:
    """Fill a row with NaN: what a score that is not finite leaves behind."""
    nan = np.float32(np.nan)
    for v in range(row.shape[0]):
        row[v] = store(nan, row)


@inlined
def _similar_row(row: Any, own: Any, inverse_temperature: Any, similar: Any, rest: Any) -> Any:
    """Compute a word's `similar` = exp((s - max) / tau) and `rest` = own * s: -> (sum of `similar`, log-normaliser)."""
    best = _highest(row, None)
    total = np.float32(0)
    for v in range(row.shape[0]):
        s = load(row[v])
        e = exp((s - best) * inverse_temperature)
        similar[v] = e
        rest[v] = own * s
        total += e
    return total, np.float64(best) * inverse_temperature + np.log(np.float64(total))


@inlined
def _token_row_twenty(row: Any, target: Any, similar: Any, rest: Any, soft: Any, gamma: Any, gamma_similar: Any) -> Any:
    """Process a token at tau = 20 without bias, where exp(z) is the twentieth power of exp(z / 20).

    -> (cross-entropy, log-normaliser at temperature tau).
    """
    best = _highest(row, None)
    inverse_temperature = np.float32(1) / _TWENTY
    target_score = np.float64(load(row[target]))
    total = np.float32(0)
    total_soft = np.float32(0)
    for v in range(row.shape[0]):
        z = load(row[v])
        e = exp((z - best) * inverse_temperature)
        soft[v] = e
        rest[v] -= z
        total_soft += e
        e2 = e * e
        e5 = e2 * e2 * e
        e10 = e5 * e5
        total += e10 * e10
    inverse = np.float32(1) / total
    gamma_soft = gamma / total_soft
    for v in range(row.shape[0]):
        e = soft[v]
        e2 = e * e
        e5 = e2 * e2 * e
        e10 = e5 * e5
        row[v] = store(e10 * e10 * inverse + gamma_soft * e - gamma_similar * similar[v], row)
    soft_normaliser = np.float64(best) * inverse_temperature + np.log(np.float64(total_soft))
    return np.log(np.float64(total)) + np.float64(best) - target_score, soft_normaliser


@inlined
def _token_row(
    row: Any, bias: Any, biased: Any, target: Any, similar: Any, rest: Any, soft: Any, sharp: Any,
    inverse_temperature: Any, gamma: Any, gamma_similar: Any, predicted: Any,
) -> Any:  # fmt: skip
    """Process a token at any temperature: -> (cross-entropy, log-normaliser at temperature tau)."""
    best_logit = _highest(row, bias)
    best = _highest(row, None) if biased == 0 else best_logit
    target_logit = np.float64(load(row[target]) + bias[target])
    total = np.float32(0)
    total_soft = np.float32(0)
    for v in range(row.shape[0]):
        z = load(row[v])
        held = z + biased * bias[v]
        e = exp((held - best) * inverse_temperature)
        soft[v] = e
        rest[v] -= held
        total_soft += e
        p = exp(z + bias[v] - best_logit)
        sharp[v] = p
        total += p
    inverse = np.float32(1) / total
    gamma_soft = gamma / total_soft
    for v in range(row.shape[0]):
        row[v] = store(sharp[v] * inverse + gamma_soft * soft[v] - gamma_similar * similar[v], row)
    for v in range(predicted.shape[0]):
        predicted[v] += sharp[v] * inverse + biased * (gamma_soft * soft[v] - gamma_similar * similar[v])
    soft_normaliser = np.float64(best) * inverse_temperature + np.log(np.float64(total_soft))
    return np.log(np.float64(total)) + np.float64(best_logit) - target_logit, soft_normaliser


@inlined
def _mean(similar: Any, rest: Any, total: Any) -> Any:
    """Return y . r."""
    dot = np.float32(0)
    for v in range(similar.shape[0]):
        dot += similar[v] * rest[v]
    return dot / total


@inlined
def _word_row(
    row: Any, similar: Any, rest: Any, own: Any, entropy_alone: Any, total: Any, inverse_temperature: Any, gamma: Any
) -> Any:
    """Turn the word's row into d(loss)/d(similarity score), or that of the entropy alone: -> y . r / tau."""
    mean = _mean(similar, rest, total)
    divergence = np.float64(mean * inverse_temperature)
    if entropy_alone:
        for v in range(row.shape[0]):
            rest[v] = own * load(row[v])
        mean = _mean(similar, rest, total)
    scale = gamma * inverse_temperature / total
    for v in range(row.shape[0]):
        row[v] = store(scale * similar[v] * (rest[v] - mean), row)
    return divergence


@compiled
def augmented_rows(
    rows: Any, bias: Any, targets: Any, first: Any, begin: Any, end: Any, temperature: Any, gamma: Any, divergent: Any,
    biased: Any, entropy_alone: Any, out: Any, predicted: Any,
) -> None:  # fmt: skip
    """`rows`: N token rows, then a row for each word; word m owns tokens first[m : m + 2]. Words of the groups `begin`
    to `end`, `GROUP` words each.

    On return token rows hold d(total)/d(score) less the target's own -1, word rows d(total)/d(similarity score), and
    out[m] is (cross-entropy, divergence) summed over the word's tokens; where `divergent` is 0 and not 1, the second is
    the cross-entropy between similarities and prediction. predicted[group], where it has columns, is what the bias
    learns from, less the targets' own -1: the sum of softmax(scores + bias) and, where `biased` is 1 and not 0, of what
    pulls the scores. Where `entropy_alone`, word rows are what the entropy of the similarities gives them.
    `bias` is None where there is none and the temperature is 20, which leaves `_token_row` uncompiled; zeros where
    there is none at other temperatures.
    """
    words = rows.shape[1]
    tokens = targets.shape[0]
    similar, rest, soft, sharp = _block(words), _block(words), _block(words), _block(words)
    inverse_temperature = np.float32(1) / temperature
    for m in range(begin * GROUP, min(end * GROUP, rows.shape[0] - tokens)):
        own = divergent * np.float32(first[m + 1] - first[m])
        total, normaliser = _similar_row(rows[tokens + m], own, inverse_temperature, similar, rest)
        gamma_similar = gamma / total
        nats = 0.0
        divergence = -np.float64(own) * normaliser
        for n in range(first[m], first[m + 1]):
            if bias is None:
                ce, log_soft = _token_row_twenty(rows[n], targets[n], similar, rest, soft, gamma, gamma_similar)
            else:
                ce, log_soft = _token_row(
                    rows[n], bias, biased, targets[n], similar, rest, soft, sharp, inverse_temperature, gamma,
                    gamma_similar, predicted[m // GROUP],
                )  # fmt: skip
            nats += ce
            divergence += log_soft
        out[m, 0] = nats
        out[m, 1] = divergence + _word_row(
            rows[tokens + m], similar, rest, own, entropy_alone, total, inverse_temperature, gamma
        )
        if not np.isfinite(nats + out[m, 1]):
            for n in range(first[m], first[m + 1]):
                _spoil(rows[n])
            _spoil(rows[tokens + m])


@compiled
def cross_entropy_rows(rows: Any, bias: Any, targets: Any, begin: Any, end: Any, out: Any, predicted: Any) -> None:
    """Turn token rows into softmax(scores + bias), where `bias` may be None; out[n] is the cross-entropy.

    Rows of the groups `begin` to `end`, `GROUP` rows each; predicted[group], where it has columns, becomes their sum.
    """
    words = rows.shape[1]
    sharp = _block(words)
    for n in range(begin * GROUP, min(end * GROUP, rows.shape[0])):
        row = rows[n]
        summed = predicted[n // GROUP]
        total = np.float32(0)
        best = _highest(row, bias)
        if bias is None:
            target_logit = np.float64(load(row[targets[n]]))
            for v in range(words):
                e = exp(load(row[v]) - best)
                sharp[v] = e
                total += e
        else:
            target_logit = np.float64(load(row[targets[n]]) + bias[targets[n]])
            for v in range(words):
                e = exp(load(row[v]) + bias[v] - best)
                sharp[v] = e
                total += e
        inverse = np.float32(1) / total
        for v in range(words):
            row[v] = store(sharp[v] * inverse, row)
        for v in range(summed.shape[0]):
            summed[v] += sharp[v] * inverse
        out[n] = np.log(np.float64(total)) + np.float64(best) - target_logit
        if not np.isfinite(out[n]):
            _spoil(row)
