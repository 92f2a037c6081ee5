"""A network or a mixture as an n-gram model: for decoders that take nothing else.

The n-grams are those of the training text and of text that the model writes itself. The probability of a word after
the last n - 1 words h is what the model expects on average, over the places of both texts where h stands and whatever
came before it:

    p(w | h) = (sum over places of h of p(w | all words before) + k_n q(w | h)) / (places of h + k_n)

q is a Kneser-Ney model of both texts, which holds if h was seen at few places: a context that was seen once stands for
all texts that it will end. k_n, one number an order, is chosen on the validation text. Unlike counts, this asks the
model about all words that are stored after h at each place of h, not about the one word that came. Back-off weights
make the words sum to one, and n-grams that change the model least are pruned (Stolcke 1998), with the frequency of h in
the texts as p(h).

Text that the model wrote as training text of an n-gram model is Deoras et al. (2011), "Variational approximation of
long-span language models for LVCSR"; probabilities of the network on n-grams are Adel et al. (2014), "Comparing
approaches to convert recurrent neural networks into backoff language models for efficient decoding".

Shapes: N places, T steps, B streams, V words, G n-grams of one order, C contexts of one order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordtie.data.batches import PADDING, Ids
from wordtie.models.mixture import Mixture
from wordtie.models.next_word import NextWordModel
from wordtie.models.recent_words import AdaptiveMixture
from wordtie.ngrams.backoff import BackoffModel, normalised, of_trie, pruned, to_trie
from wordtie.ngrams.counts import Int64s
from wordtie.ngrams.kneser_ney import fit_kneser_ney
from wordtie.ngrams.trie import TOKENS_AT_ONCE, Doubles, Level, NgramTrie

STREAMS = 32
"""Texts that are read or written side by side."""
VALUES_AT_ONCE = 4_000_000
"""Probabilities (places x words) in memory."""
PRIOR_PLACES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Values of k_n that are tried."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Approximation:
    """What an approximation is made of."""

    order: int = 4
    """Words in the longest n-gram."""
    ngrams: int | None = None
    """How many are kept; None: all."""
    sampled: int = 500_000
    """Words that the model writes."""
    seed: int = 1
    places: int | None = None
    """At how many places of the training text the model is asked; None: at all. It is most of the time."""


def approximate(
    model: NextWordModel[Any],
    train_N: Ids,
    valid_N: Ids,
    sentences: bool,
    settings: Approximation | None = None,
    progress: Progress | None = None,
) -> BackoffModel:
    """The approximation of a model. `sentences`: n-grams do not reach back over `<eos>`."""
    settings = settings or Approximation()
    model = without_recent_words(model)
    eos_id = model.vocabulary.eos_id
    texts = [np.asarray(train_N, np.int64)]
    if settings.sampled:
        texts.append(sampled_text(model, settings.sampled, settings.seed, progress))
    both_N = np.concatenate(texts)
    trie = fit_kneser_ney(both_N, len(model.vocabulary), settings.order, eos_id=eos_id if sentences else None)
    sums = Sums.zeros(trie)
    most = [len(train_N) if settings.places is None else min(settings.places, len(train_N)), settings.sampled]
    total = sum(most)
    for text, places in zip(texts, most, strict=False):
        for ids_TB, p_TBV, rows_TBK in _places(model, trie, text, places):
            sums.add(trie, p_TBV[ids_TB != PADDING], rows_TBK[ids_TB != PADDING])
            if progress:
                progress("asked the model", int(sums.places), total)
    found = _expected(of_trie(trie), sums, valid_N)
    return found if settings.ngrams is None else pruned(found, settings.ngrams, context_frequencies(trie, both_N))


def context_frequencies(trie: NgramTrie, text_N: Ids) -> list[Doubles]:
    """For each level, how often each of its contexts stands before a word of a text, (C,), over all words."""
    counts = [np.zeros(len(level.group_C)) for level in trie.levels]
    state = trie.start(1)
    for first in range(0, len(text_N), TOKENS_AT_ONCE):
        _, rows_T1K = trie.score(np.asarray(text_N[first : first + TOKENS_AT_ONCE], np.int64)[:, None], state)
        state = rows_T1K[-1]
        for number, count_C in enumerate(counts):
            rows = rows_T1K[:-1, 0, number]
            count_C += np.bincount(rows[rows >= 0], minlength=len(count_C))
    return [count_C / len(text_N) for count_C in counts]


def without_recent_words(model: NextWordModel[Any]) -> NextWordModel[Any]:
    """A mixture without its memory of recent words, which no n-gram model has; any other as it is."""
    return Mixture(model.parts, model.weights_RP) if isinstance(model, AdaptiveMixture) else model


def sampled_text(model: NextWordModel[Any], words: int, seed: int, progress: Progress | None = None) -> Int64s:
    """Text that the model writes, as ids, (N,): some texts one after the other, the last word of each `<eos>`."""
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
    """(V,)"""
    ngrams: list[Doubles]
    """(G,) of each order from 2."""
    contexts: list[Doubles]
    """(C,) of each of these orders: at how many places each context stands."""
    places: float = 0.0

    @classmethod
    def zeros(cls, trie: NgramTrie) -> Sums:
        """For the n-grams of a trie."""
        return cls(
            np.zeros(trie.vocabulary_size),
            [np.zeros(len(level.word_G)) for level in trie.levels],
            [np.zeros(len(level.group_C)) for level in trie.levels],
        )

    def add(self, trie: NgramTrie, p_NV: NDArray[np.floating[Any]], rows_NK: Int64s) -> None:
        """Some places: p of every word there, and the contexts that stand before them."""
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
        """One order, from places sorted by context; those of a context begin at `first_U`."""
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
    """(Ids, p of every word before each, contexts of each) of a text that is read as some streams, window by window.

    Of each stream the beginning is read, if all words are more than `most`.
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


def _expected(model: BackoffModel, sums: Sums, valid_N: Ids) -> BackoffModel:
    """The n-grams with what is expected of them, order after order; k_n is the best for the validation text."""
    found = BackoffModel(sums.unigram / sums.unigram.sum(), (), model.eos_id)
    for level, sum_G, places_C in zip(model.levels, sums.ngrams, sums.contexts, strict=True):
        tried: list[tuple[float, BackoffModel]] = []
        for prior in PRIOR_PLACES:
            p_G = (sum_G + prior * level.p_G) / (places_C[level.context_G] + prior)
            with_level = normalised(replace(found, levels=(*found.levels, replace(level, p_G=p_G))))
            log_p = float(to_trie(with_level).log_probabilities(valid_N).sum())
            tried.append((log_p, with_level))
            if len(tried) > 1 and log_p < tried[-2][0]:
                break
        found = max(tried, key=lambda each: each[0])[1]
    return found
