"""A network or a mixture as an n-gram model: for decoders that take nothing else.

The n-grams are those of the training text and of text that the model writes itself. With E(h w) the number of times
that the network expects w at the places of both texts where the words h stand, whatever came before them, and n(h) the
number of these places, the longest n-grams have

    p(w | h) = a_h E(h w) / n(h) + (1 - a_h) q(w | h),    a_h = a n(h) / (n(h) + k).

q is a Kneser-Ney model of both texts. It prevails for contexts that were seen at few places, which represent other
texts that end in them poorly, and it is the n-gram part of a mixture. a is chosen on the validation text. Unlike
counts, E asks the network about all words that are stored after h at each place of h, not about the one word that came.

A shorter n-gram is used if no longer one is stored. So its expectations leave out what longer ones account for, as
Kneser-Ney counts do: E(h' w) less the sum of E(h w) over the stored h w that end in h' w, and n(h') less the same for
all words. Back-off weights make the words sum to one.

N-grams that change the model least are pruned (Stolcke 1998), with the frequency of h in the texts as p(h). Then the
probabilities are computed again: shorter n-grams account for what was pruned.

Text that the model wrote as training text of an n-gram model is Deoras et al. (2011), "Variational approximation of
long-span language models for LVCSR"; probabilities of the network on n-grams are Adel et al. (2014), "Comparing
approaches to convert recurrent neural networks into backoff language models for efficient decoding".

Shapes: N places, T steps, B streams, V words, G n-grams of one order, C contexts of one order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordtie.data.batches import PADDING, Ids
from wordtie.models.mixture import Mixture
from wordtie.models.next_word import NextWordModel
from wordtie.models.recent_words import without_recent_words
from wordtie.ngrams.backoff import (
    BackoffModel,
    most_valuable,
    normalised,
    of_trie,
    restricted,
    suffix_rows,
    to_trie,
)
from wordtie.ngrams.counts import Int64s
from wordtie.ngrams.kneser_ney import fit_kneser_ney
from wordtie.ngrams.memory import check_ngrams_fit
from wordtie.ngrams.model import NgramModel
from wordtie.ngrams.trie import TOKENS_AT_ONCE, Doubles, Level, NgramTrie

STREAMS = 32
"""Texts that are read or written side by side."""
VALUES_AT_ONCE = 4_000_000
"""Probabilities (places x words) in memory."""
SHARES = (0.0, 0.3, 0.5, 0.7, 0.9)
"""Values of a that are tried; with 0, the approximation is a Kneser-Ney model of both texts."""
PRIOR_PLACES = 2.0
"""The constant k of the equation."""
UNSEEN = 1e-9

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Approximation:
    """Settings of an approximation."""

    order: int = 4
    """Words in the longest n-gram."""
    ngrams: int | None = None
    """N-grams that are kept; None: all."""
    sampled: int = 500_000
    """Words that the model writes."""
    seed: int = 1
    places: int | None = None
    """Places of the training text at which the model is asked, which takes most of the time; None: all."""


@dataclass(frozen=True)
class Expectations:
    """Sums of a model's predictions, from which approximations of any size are made."""

    counted: BackoffModel
    """The Kneser-Ney model of both texts."""
    sums: Sums
    context_p: Sequence[Doubles]
    """Frequency of each context, (C,) for each level."""

    def approximation(self, valid_N: Ids, ngrams: int | None = None) -> BackoffModel:
        """Return the approximation with at most `ngrams` n-grams; its parameter is fitted to the validation text."""
        if ngrams is None or ngrams >= self.counted.ngrams:
            return best_expected(self.counted, self.sums, valid_N)
        kept = most_valuable(best_expected(self.counted, self.sums, valid_N), ngrams, self.context_p)
        return best_expected(restricted(self.counted, kept), self.sums.restricted(kept), valid_N)


def approximate(
    model: NextWordModel[Any],
    train_N: Ids,
    valid_N: Ids,
    sentences: bool,
    settings: Approximation | None = None,
    progress: Progress | None = None,
) -> BackoffModel:
    """Approximate a model. `sentences`: n-grams do not reach back over `<eos>`."""
    settings = settings or Approximation()
    return expectations(model, train_N, sentences, settings, progress).approximation(valid_N, settings.ngrams)


def expectations(
    model: NextWordModel[Any],
    train_N: Ids,
    sentences: bool,
    settings: Approximation,
    progress: Progress | None = None,
) -> Expectations:
    """Let the model write, and ask it about both texts."""
    check_ngrams_fit(len(train_N) + settings.sampled, settings.order, "take a smaller --order")
    model = without_recent_words(model)
    eos_id = model.vocabulary.eos_id
    texts = [np.asarray(train_N, np.int64)]
    if settings.sampled:
        texts.append(sampled_text(model, settings.sampled, settings.seed, progress))
    both_N = np.concatenate(texts)
    trie = fit_kneser_ney(both_N, len(model.vocabulary), settings.order, eos_id=eos_id if sentences else None)
    most = [len(train_N) if settings.places is None else min(settings.places, len(train_N)), settings.sampled]
    sums, asked = Sums.zeros(trie), without_ngrams(model)
    for text, places in zip(texts, most, strict=False):
        for ids_TB, p_TBV, rows_TBK in _places(asked, trie, text, places):
            sums.add(trie, p_TBV[ids_TB != PADDING], rows_TBK[ids_TB != PADDING])
            if progress:
                progress("asked the model", int(sums.places), sum(most))
    return Expectations(of_trie(trie), sums, context_frequencies(trie, both_N))


def without_ngrams(model: NextWordModel[Any]) -> NextWordModel[Any]:
    """Return the networks of a mixture: its n-grams have seen the training text, and would expect what comes there."""
    if not isinstance(model, Mixture):
        return model
    numbers = [number for number, part in enumerate(model.parts) if not isinstance(part, NgramModel)]
    weight_P = model.weights_RP.mean(0)[numbers]
    if not numbers or not weight_P.sum():
        return model
    parts = [model.parts[number] for number in numbers]
    return parts[0] if len(parts) == 1 else Mixture(parts, (weight_P / weight_P.sum())[None])


def context_frequencies(trie: NgramTrie, text_N: Ids) -> list[Doubles]:
    """Return the share of the words of a text that each context of each level precedes, (C,)."""
    counts = [np.zeros(len(level.group_C)) for level in trie.levels]
    state = trie.start(1)
    for first in range(0, len(text_N), TOKENS_AT_ONCE):
        _, rows_T1K = trie.score(np.asarray(text_N[first : first + TOKENS_AT_ONCE], np.int64)[:, None], state)
        state = rows_T1K[-1]
        for number, count_C in enumerate(counts):
            rows = rows_T1K[:-1, 0, number]
            count_C += np.bincount(rows[rows >= 0], minlength=len(count_C))
    return [count_C / len(text_N) for count_C in counts]


def sampled_text(model: NextWordModel[Any], words: int, seed: int, progress: Progress | None = None) -> Int64s:
    """Sample text from the model, as ids, (N,): `STREAMS` texts one after the other, each with `<eos>` at its end."""
    draw = np.random.default_rng(seed)
    state = model.initial_state(STREAMS)
    steps = -(-words // STREAMS)
    ids_TB = np.empty((steps, STREAMS), np.int64)
    for step in range(steps):
        sums_BV = np.exp(model.next(state).astype(np.float64)).cumsum(1)
        threshold_B1 = draw.random((STREAMS, 1)) * sums_BV[:, -1:]
        ids_TB[step] = np.minimum((sums_BV <= threshold_B1).sum(1), len(model.vocabulary) - 1)
        state = model.advance(ids_TB[step : step + 1], state)
        if progress and step % 100 == 0:
            progress("words written", step * STREAMS, words)
    ids_TB[-1] = model.vocabulary.eos_id
    return ids_TB.T.reshape(-1)


@dataclass
class Sums:
    """What the model expects, summed over places."""

    unigram: Doubles
    """Expected number of each word, (V,)."""
    ngrams: list[Doubles]
    """Expected number of each n-gram, (G,) for each order from 2."""
    contexts: list[Doubles]
    """Number of places of each context, (C,) for each of these orders."""
    places: float = 0.0

    @classmethod
    def zeros(cls, trie: NgramTrie) -> Sums:
        """Return sums of zero for the n-grams of a trie."""
        return cls(
            np.zeros(trie.vocabulary_size),
            [np.zeros(len(level.word_G)) for level in trie.levels],
            [np.zeros(len(level.group_C)) for level in trie.levels],
        )

    def restricted(self, kept: Sequence[NDArray[np.bool_]]) -> Sums:
        """Return the sums of the n-grams that are kept, as `wordtie.ngrams.backoff.restricted` keeps them."""
        contexts_kept = [np.ones(len(self.unigram) + 1, bool), *kept]
        return Sums(
            self.unigram,
            [sum_G[kept_G] for sum_G, kept_G in zip(self.ngrams, kept, strict=True)],
            [places_C[kept_C] for places_C, kept_C in zip(self.contexts, contexts_kept, strict=False)],
            self.places,
        )

    def add(self, trie: NgramTrie, p_NV: NDArray[np.floating[Any]], rows_NK: Int64s) -> None:
        """Add some places: p of every word there, and the contexts before them."""
        self.places += len(p_NV)
        self.unigram += p_NV.sum(0, dtype=np.float64)
        for number, level in enumerate(trie.levels):
            known = np.flatnonzero(rows_NK[:, number] >= 0)
            row_N = rows_NK[known, number]
            order = np.argsort(row_N, kind="stable")
            rows_U, first_U, times_U = np.unique(row_N[order], return_index=True, return_counts=True)
            if not len(rows_U):
                continue
            self.contexts[number][rows_U] += times_U
            self._add_level(level, number, p_NV, known[order], rows_U, first_U)

    def _add_level(
        self, level: Level, number: int, p_NV: NDArray[Any], place_N: NDArray[np.intp], rows_U: Int64s, first_U: Int64s
    ) -> None:
        """Add one order, from places sorted by context; those of a context begin at `first_U`."""
        begin_U, end_U, _ = level.spans(rows_U)
        size_U = end_U - begin_U
        here_M = np.arange(size_U.sum()) + np.repeat(begin_U - (np.cumsum(size_U) - size_U), size_U)
        word_M = level.words(here_M).astype(np.intp)
        if number == 0:  # few contexts, each with many words: add up the places of a context first
            p_UV = np.add.reduceat(p_NV[place_N], first_U, axis=0)
            self.ngrams[number][here_M] += p_UV[np.repeat(np.arange(len(rows_U)), size_U), word_M]
            return
        times_U = np.diff(np.append(first_U, len(place_N)))
        for again in range(int(times_U.max())):  # the first place of each context, then the second of those with two
            some_U = times_U > again
            owner = np.repeat(some_U, size_U)
            place_M = np.repeat(place_N[np.minimum(first_U + again, len(place_N) - 1)], size_U)[owner]
            self.ngrams[number][here_M[owner]] += p_NV[place_M, word_M[owner]]


def _places(
    model: NextWordModel[Any], trie: NgramTrie, text_N: Int64s, most: int
) -> Iterator[tuple[Ids, NDArray[np.floating[Any]], Int64s]]:
    """Yield (ids, p of every word before each, contexts of each) of a text read as `STREAMS` streams, by windows.

    Only the beginning of each stream is read, if the text has more than `most` words.
    """
    length = -(-len(text_N) // STREAMS)
    padded_TB = np.append(text_N, np.full(length * STREAMS - len(text_N), PADDING)).reshape(STREAMS, length).T
    steps = max(1, VALUES_AT_ONCE // (STREAMS * len(model.vocabulary)))
    state, rows_BK = model.initial_state(STREAMS), trie.start(STREAMS)
    for first in range(0, min(length, -(-most // STREAMS)), steps):
        ids_TB = np.ascontiguousarray(padded_TB[first : first + steps])
        p_TBV, state = model.distributions(ids_TB, state)
        _, rows_TBK = trie.score(np.where(ids_TB == PADDING, 0, ids_TB), rows_BK)
        rows_BK = rows_TBK[-1]
        yield ids_TB, p_TBV, rows_TBK[:-1]


def best_expected(counted: BackoffModel, sums: Sums, valid_N: Ids) -> BackoffModel:
    """Return the approximation whose share of the network is the best for the validation text."""
    tried = [expected(counted, sums, share) for share in SHARES]
    return max(tried, key=lambda model: float(to_trie(model).log_probabilities(valid_N).sum()))


def expected(counted: BackoffModel, sums: Sums, share: float) -> BackoffModel:
    """Return the n-grams with the probabilities that the network expects, for one share of the network (a)."""
    suffix = suffix_rows(counted)
    left_V = sums.unigram.copy()
    if counted.levels:
        left_V = np.maximum(left_V - np.bincount(suffix[0], sums.ngrams[0], len(left_V)), 0)
    unigram = share * left_V / max(left_V.sum(), UNSEEN) + (1 - share) * counted.unigram
    levels = []
    for number, level in enumerate(counted.levels):
        sum_G, places_C = sums.ngrams[number], sums.contexts[number]
        if number + 1 < len(counted.levels):
            longer = sums.ngrams[number + 1]
            shorter_context = suffix[number][counted.levels[number + 1].context_G]
            sum_G = _less(sum_G, suffix[number + 1], longer)
            places_C = _less(places_C, shorter_context, longer)
        weight_C = share * places_C / (places_C + PRIOR_PLACES)
        expected_G = sum_G / np.maximum(places_C, UNSEEN)[level.context_G]
        weight_G = weight_C[level.context_G]
        levels.append(replace(level, p_G=weight_G * expected_G + (1 - weight_G) * level.p_G))
    return normalised(BackoffModel(unigram, tuple(levels), counted.eos_id))


def _less(total: Doubles, row_G: Int64s, accounted_G: Doubles) -> Doubles:
    """Return what is left of totals, at least 0; -1 is the row of n-grams that have no total."""
    there = row_G >= 0
    return np.maximum(total - np.bincount(row_G[there], accounted_G[there], len(total)), 0)
