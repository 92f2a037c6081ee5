"""What contexts of any length add to a 5-gram model and to its mixture with a network.

    python -m benchmarks.unbounded_contexts runs/ptb runs/sotu > results/bench/unbounded-contexts.tsv

The unbounded model is that of infini-gram (Liu et al. 2024): the longest suffix of what was read that the training text
has, and what follows it there,

    p(w | h) = count(suffix w) / count(suffix)

It gives most words no probability, so it is of use in a mixture alone. The runs are networks with n-grams mixed in
(`wordtie train`). Weights are fitted on the first half of the validation text, one for each class of contexts, and
measured on the second half. The class is how long the suffix is and whether it was seen more than once; it is the same
for the mixtures without the unbounded model, so that they differ in what they mix alone.

Shapes: N tokens, P parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import names_given
from wordtie.inference.loading import load
from wordtie.inference.training_corpus import training_corpus
from wordtie.models.mixture import Classes, fit_weights, log_p_of_text, log_probabilities
from wordtie.models.next_word import Nats

LONGEST_CLASS = 12
"""Suffixes of so many words and more are one class."""
NOWHERE = -1
"""The number of a context that the training text does not have: with a word, it has none either."""
COLUMNS = ("corpus", "tokens", "mean suffix", "5-gram", "5-gram, unbounded", "gain %", "mixture", "mixture, unbounded",
           "gain %")  # fmt: skip


@dataclass(frozen=True)
class Unbounded:
    """What the unbounded model says of a text."""

    log_p_N: Nats
    """-inf where it gives a word no probability."""
    length_N: NDArray[np.int64]
    """Words of the suffix."""
    count_N: NDArray[np.int64]
    """How often the training text has it, with a word after it."""

    @property
    def class_N(self) -> Classes:
        """How long the suffix is, and whether it was seen more than once."""
        found: Classes = 2 * np.minimum(self.length_N, LONGEST_CLASS) + (self.count_N > 1)
        return found


def unbounded(train: NDArray[Any], text: NDArray[Any], words: int) -> Unbounded:
    """Look every token's context up, one word more at a time, until no context is found.

    N-grams of the training text have numbers: a longer one is that of all but its last word, and this word.

    >>> found = unbounded(np.array([1, 2, 3, 1, 2, 4]), np.array([1, 2, 3]), 5)
    >>> np.exp(found.log_p_N).round(2).tolist(), found.length_N.tolist()
    ([0.33, 1.0, 0.5], [0, 1, 2])
    """
    train, text = train.astype(np.int64), text.astype(np.int64)
    found = Unbounded(
        log_p_N=_log_ratio(np.bincount(train, minlength=words)[text], np.array(len(train))),
        length_N=np.zeros(len(text), np.int64),
        count_N=np.full(len(text), len(train)),
    )
    shorter, context_N = np.zeros(len(train), np.int64), np.zeros(len(text), np.int64)
    places = np.arange(1, len(text))
    for length in range(1, len(train)):
        # the n-gram that ends at a place is the shorter one that ends a word earlier, and the word
        before = shorter if length == 1 else shorter[:-1]
        known, shorter = np.unique(before * words + train[length - 1 :], return_inverse=True)
        at, there = _find(known, context_N[places - (length > 1)] * words + text[places - 1])
        context_N[:] = NOWHERE
        context_N[places[there]] = at[there]
        followed = np.bincount(shorter[:-1], minlength=len(known))
        places, at = places[there], at[there]
        places, at = places[followed[at] > 0], at[followed[at] > 0]
        if not len(places):
            break
        pairs, counts = np.unique(shorter[:-1] * words + train[length:], return_counts=True)
        of_pair, there = _find(pairs, at * words + text[places])
        found.log_p_N[places] = _log_ratio(np.where(there, counts[of_pair], 0), followed[at])
        found.length_N[places], found.count_N[places] = length, followed[at]
        places = places[places < len(text) - 1] + 1
        places = places[places > length]
    return found


def _find(known: NDArray[np.int64], wanted: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(Places in a sorted array, whether each is there)."""
    at = np.searchsorted(known, wanted).clip(max=len(known) - 1)
    return at, known[at] == wanted


def _log_ratio(count: NDArray[np.int64], of: NDArray[np.int64]) -> Nats:
    with np.errstate(divide="ignore"):
        found: Nats = np.log(count) - np.log(of)
    return found


def held_out(log_p_NP: Nats, class_N: Classes) -> float:
    """Perplexity of the second half, under weights of the first."""
    half = len(log_p_NP) // 2
    weights_RP = fit_weights(log_p_NP[:half], class_N[:half], int(class_N.max()) + 1)
    return math.exp(-log_p_of_text(log_p_NP[half:], class_N[half:], weights_RP) / (len(log_p_NP) - half))


def row(run: str) -> tuple[str, ...]:
    """The figures of one run."""
    network, ngram = (load(run, part=part) for part in ("network", "ngram"))
    texts = training_corpus(network, run, ["train", "valid"])
    valid = np.asarray(texts.valid)
    log_p_NP, _ = log_probabilities([network.model, ngram.model], [valid])
    more = unbounded(np.asarray(texts.train), valid, len(network.tokenizer.vocabulary))
    tiny_N = np.maximum(more.log_p_N, -700.0)
    cells = [network.settings.data.corpus or run, f"{len(valid)}", f"{more.length_N.mean():.2f}"]
    for parts in (log_p_NP[:, 1:], log_p_NP):
        without = held_out(parts, more.class_N)
        with_it = held_out(np.column_stack([parts, tiny_N]), more.class_N)
        cells += [f"{without:.2f}", f"{with_it:.2f}", f"{100 * (1 - with_it / without):.2f}"]
    return tuple(cells)


def rows(runs: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """A row a run."""
    yield COLUMNS
    yield from map(row, runs)


if __name__ == "__main__":
    for cells in rows(names_given(__doc__, 1)):
        print(*cells, sep="\t", flush=True)
