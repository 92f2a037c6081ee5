"""An n-gram model in the form of ARPA files: a probability of each n-gram, and a back-off weight of each context.

With h the context and h' the context without its first word,

    p(w | h) = p of hw                    if hw is stored
               backoff(h) p(w | h')       if it is not

The trie (`wordtie.ngrams.trie`) stores an interpolated model, p(w | h) = weight(hw) + backoff(h) p(w | h'). Each form
is exactly the other with weight(hw) = p(w | h) - backoff(h) p(w | h'), which may be negative; so one trie serves both.

Shapes: G n-grams of one order n, C contexts (n-grams one order below; of order 2 the words, then the start), V words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wordtie.ngrams.counts import Int64s
from wordtie.ngrams.trie import Doubles, Level, NgramTrie, first_children, smallest, split_words

NGRAMS_AT_ONCE = 1 << 18
SMALLEST_SHARE = 1e-13
"""Minimum probability of an n-gram in a trie, as a share of its back-off probability; less is rounding."""
LEAST_MASS = 1e-9
"""Minimum probability that a context leaves to words that do not extend it; less is rounding."""


@dataclass(frozen=True)
class BackoffLevel:
    """The n-grams of one order, sorted by context and then by last word."""

    ids_GN: NDArray[np.int32]
    """The id V is the start of a sentence, and only ever the first."""
    context_G: Int64s
    """The row of each n-gram's context among the contexts."""
    p_G: Doubles
    backoff_C: Doubles
    """Back-off weight of every context; 1 for one that nothing extends."""

    @property
    def order(self) -> int:
        """Number of words in an n-gram, n."""
        return int(self.ids_GN.shape[1])


@dataclass(frozen=True)
class BackoffModel:
    """Unigrams and the levels above them."""

    unigram: Doubles
    """(V,)"""
    levels: tuple[BackoffLevel, ...]
    eos_id: int | None
    """The word after which context starts over; None: never."""

    @property
    def ngrams(self) -> int:
        """Number of stored n-grams, words included."""
        return len(self.unigram) + sum(len(level.p_G) for level in self.levels)


def of_trie(trie: NgramTrie) -> BackoffModel:
    """Return the model in a trie."""
    levels: list[BackoffLevel] = []
    ids_CN = np.arange(trie.vocabulary_size + 1, dtype=np.int32)[:, None]
    for number, level in enumerate(trie.levels):
        context_G = np.repeat(np.arange(len(ids_CN)), level.children[level.group_C].astype(np.int64))
        word_G = level.words(np.arange(len(context_G))).astype(np.int32)
        ids_GN = np.concatenate([ids_CN[context_G], word_G[:, None]], 1)
        p_G = probabilities(NgramTrie(trie.unigram, trie.levels[: number + 1], trie.eos_id), ids_GN)
        levels.append(BackoffLevel(ids_GN, context_G, p_G, level.backoff[level.group_C]))
        ids_CN = ids_GN
    return BackoffModel(trie.unigram, tuple(levels), trie.eos_id)


def to_trie(model: BackoffModel) -> NgramTrie:
    """Return the same model as a trie. The levels must be sorted, each context a row of the level below.

    An n-gram that is almost impossible although its back-off is not, such as one with log p -99, gets `SMALLEST_SHARE`
    of its back-off probability: the trie stores the difference from this, which rounding could turn into p <= 0.
    """
    trie = NgramTrie(model.unigram, (), model.eos_id)
    for level in model.levels:
        lower_G = probabilities(trie, level.ids_GN[:, 1:])
        children_C = np.bincount(level.context_G, minlength=len(level.backoff_C))
        groups, group_C = np.unique(np.stack([children_C, level.backoff_C], 1), axis=0, return_inverse=True)
        backed_off_G = level.backoff_C[level.context_G] * lower_G
        weight_G = np.maximum(level.p_G, SMALLEST_SHARE * backed_off_G) - backed_off_G
        kept, code_G = np.unique(weight_G, return_inverse=True)
        low_G, high_G = split_words(level.ids_GN[:, -1].astype(np.int64))
        made = Level(
            group_C=smallest(group_C.reshape(-1)),
            children=smallest(groups[:, 0].astype(np.int64)),
            total=np.ones(len(groups)),
            backoff=np.ascontiguousarray(groups[:, 1]),
            first_child=first_children(children_C),
            word_G=low_G,
            high_G=high_G,
            count_G=smallest(code_G),
            kept=kept,
        )
        trie = NgramTrie(trie.unigram, (*trie.levels, made), trie.eos_id)
    return trie


def probabilities(trie: NgramTrie, ids_GN: NDArray[np.integer]) -> Doubles:
    """Return p(last word | the words before it), (G,), of these n-grams, with no word before their first."""
    if ids_GN.shape[1] == 1:
        unigram_G: Doubles = trie.unigram[ids_GN[:, 0]]
        return unigram_G
    found = [np.zeros(0)]
    for first in range(0, len(ids_GN), NGRAMS_AT_ONCE):
        ids_NG = ids_GN[first : first + NGRAMS_AT_ONCE].T.astype(np.int64)
        state_GK = np.full((ids_NG.shape[1], len(trie.levels)), -1, np.int64)
        state_GK[:, :1] = ids_NG[0][:, None]
        found.append(trie.score(ids_NG[1:], state_GK)[0][-1])
    return np.concatenate(found)


def normalised(model: BackoffModel) -> BackoffModel:
    """Return the model with back-off weights such that the words sum to one after every context:

    backoff(h) = (1 - sum of p(w | h)) / (1 - sum of p(w | h')), both sums over the words w that are stored after h.
    """
    levels: list[BackoffLevel] = []
    for level in model.levels:
        lower = to_trie(replace(model, levels=tuple(levels)))
        levels.append(replace(level, backoff_C=_backoff(level, probabilities(lower, level.ids_GN[:, 1:]))))
    return replace(model, levels=tuple(levels))


def _backoff(level: BackoffLevel, lower_G: Doubles) -> Doubles:
    left_C, left_below_C = (
        np.maximum(1 - np.bincount(level.context_G, each_G, len(level.backoff_C)), LEAST_MASS)
        for each_G in (level.p_G, lower_G)
    )
    extended_C = np.bincount(level.context_G, minlength=len(level.backoff_C)) > 0
    return np.where(extended_C, left_C / left_below_C, 1.0)


def losses(model: BackoffModel, context_p: Sequence[Doubles] | None = None) -> list[Doubles]:
    """Return the value of each n-gram of orders 2 and above, (G,) per order: the divergence, in nats per word, of the
    model without it from the model with it (Stolcke 1998, equations 2 to 5).

    `context_p` is the probability of each context, (C,) for each level. Without it, it is the product of the
    probabilities of its words, as in the paper.
    """
    found = []
    for number, level in enumerate(model.levels):
        trie = to_trie(replace(model, levels=model.levels[:number]))
        lower_G = probabilities(trie, level.ids_GN[:, 1:])
        given = _chain(model, number) if context_p is None else context_p[number]
        found.append(_losses(level, lower_G, given[level.context_G]))
    return found


def _losses(level: BackoffLevel, lower_G: Doubles, context_p_G: Doubles) -> Doubles:
    """Return, with b the back-off weight of the context and b' the one without the n-gram:

    p(h) { p(w | h) [log p(w | h) - log b' - log p(w | h')] + (1 - sum over v of p(v | h)) [log b - log b'] }
    """
    contexts = len(level.backoff_C)
    left_G, left_below_G = (
        np.maximum(1 - np.bincount(level.context_G, each_G, contexts)[level.context_G], LEAST_MASS)
        for each_G in (level.p_G, lower_G)
    )
    log_without_G = np.log(left_G + level.p_G) - np.log(left_below_G + lower_G)
    log_with_G = np.log(left_G) - np.log(left_below_G)
    changed_G = level.p_G * (np.log(level.p_G) - log_without_G - np.log(lower_G))
    return context_p_G * (changed_G + left_G * (log_with_G - log_without_G))  # type: ignore[no-any-return]


def _chain(model: BackoffModel, number: int) -> Doubles:
    """Return the probability of each context of a level, the product over its words. A start has that of `<eos>`,
    which it follows, or is certain without one."""
    if number == 0:
        return np.append(model.unigram, model.unigram[model.eos_id] if model.eos_id is not None else 1.0)
    below = model.levels[number - 1]
    return _chain(model, number - 1)[below.context_G] * below.p_G


def pruned(model: BackoffModel, most: int, context_p: Sequence[Doubles] | None = None) -> BackoffModel:
    """Return the model with at most `most` n-grams: drop the least valuable, and recompute back-off weights."""
    return normalised(restricted(model, most_valuable(model, most, context_p)))


def most_valuable(
    model: BackoffModel, most: int, context_p: Sequence[Doubles] | None = None
) -> list[NDArray[np.bool_]]:
    """Return which n-grams to keep, (G,) per order, so that there are at most `most`.

    Words are always kept, and so are the contexts of n-grams that are kept.
    """
    worth = [each.copy() for each in losses(model, context_p)]
    for number in range(len(worth) - 1, 0, -1):  # a context is worth as much as the best of what extends it
        np.maximum.at(worth[number - 1], model.levels[number].context_G, worth[number])
    falling = np.sort(np.concatenate([np.zeros(0), *worth]))[::-1]
    room = max(0, most - len(model.unigram))
    threshold = falling[room] if room < len(falling) else -np.inf
    return [each > threshold for each in worth]


def suffix_rows(model: BackoffModel) -> list[Int64s]:
    """Return, for each level, the row one order below of each n-gram without its first word, (G,); -1 if absent."""
    base = len(model.unigram) + 1
    keys: list[Int64s] = []
    found = []
    for level in model.levels:
        found.append(_rows(level.ids_GN[:, 1:], keys, base))
        keys.append(level.context_G * base + level.ids_GN[:, -1])
    return found


def restricted(model: BackoffModel, kept: Sequence[NDArray[np.bool_]]) -> BackoffModel:
    """Return the model with the `kept` n-grams, (G,) per order; they must include all contexts. Keeps weights."""
    levels = []
    context_kept_C = np.ones(len(model.unigram) + 1, bool)
    for level, kept_G in zip(model.levels, kept, strict=True):
        row_C = np.cumsum(context_kept_C) - 1
        levels.append(
            BackoffLevel(
                level.ids_GN[kept_G], row_C[level.context_G[kept_G]], level.p_G[kept_G], level.backoff_C[context_kept_C]
            )
        )
        context_kept_C = kept_G
    while levels and not len(levels[-1].p_G):
        levels.pop()
    return replace(model, levels=tuple(levels))


def levels_of(ids: Sequence[NDArray[np.int32]], words: int) -> Iterator[tuple[NDArray[np.intp], Int64s]]:
    """Yield (order that sorts the n-grams, row of each sorted one's context) for each order of ids, (G, n), from 2.

    Raises `ValueError` with the number of the level and of an n-gram that comes twice or whose context is missing.
    """
    base = words + 1
    keys: list[Int64s] = []
    for number, ids_GN in enumerate(ids):
        row_G = _rows(ids_GN[:, :-1], keys, base)
        missing = np.flatnonzero(row_G < 0)
        if len(missing):
            raise ValueError(number, int(missing[0]), "its context is missing")
        keys_G = row_G * base + ids_GN[:, -1]
        order = np.argsort(keys_G, kind="stable")
        keys_G = keys_G[order]
        twice = np.flatnonzero(keys_G[1:] == keys_G[:-1])
        if len(twice):
            raise ValueError(number, int(order[twice[0] + 1]), "it comes twice")
        keys.append(keys_G)
        yield order, row_G[order]


def _rows(ids_GN: NDArray[np.int32], keys: Sequence[Int64s], base: int) -> Int64s:
    """Return the row of each n-gram, (G,); -1 if absent. `keys`: the sorted keys of each order from 2 to theirs."""
    row_G = ids_GN[:, 0].astype(np.int64)
    for place, keys_of_order in enumerate(keys, start=1):
        row_G = _find(keys_of_order, row_G * base + ids_GN[:, place])
    return row_G


def _find(keys: Int64s, wanted: Int64s) -> Int64s:
    """Return the row of each key, -1 where it is missing or follows a missing one."""
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    row = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where((keys[row] == wanted) & (wanted >= 0), row, -1)
