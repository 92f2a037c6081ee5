"""Parameters of a model whose vocabulary grows: what new words start from.

A new word w starts from the rows of old words that are spelt like it. With G(w) the character n-grams of w, its ends
marked, and df(g) the number of old words that have g,

    row(w) = sum over g in G(w) of weight(g) * mean of the rows of old words with g,    weight(g) ~ 1 / df(g)

so that a rare n-gram, as a stem is, counts more than a common ending. It is the idea of the bag-of-subwords model of
Zhao, Mudgal & Liang (2018), without its training. A word that shares no n-gram starts from the mean of all rows.

The output bias of a new word is the mean bias of old words that are about as frequent in the training text. An `<unk>`
that an imported model lacks is a new word, whose rows are the means of all rows.

Shapes: V old words, W new words, E embedding size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from wordtie.data.vocabulary import EOS, UNK
from wordtie.models.language_model import UNTRAINED_BIAS, WORD_MATRICES

NewWords: TypeAlias = Literal["spelling", "mean"]
BIAS = "head.bias"
SHORTEST, LONGEST = 3, 6
"""Fewest and most characters of an n-gram, the marks of the word's ends included."""
PAIRS_AT_ONCE = 100_000
"""Pairs of an n-gram and a word whose rows are in memory at a time."""


def extend(tensors: dict[str, Tensor], words: Sequence[str], count_V: Tensor, how: NewWords) -> dict[str, Tensor]:
    """Return the parameters of a model over `words`, from those of a model over the first of them.

    `count_V`: how often each word occurs in the training text, rehearsed earlier texts included. An `<unk>` that the
    model lacks is a new word, too.
    """
    size = len(tensors[WORD_MATRICES[0]])
    lacking = [words.index(UNK)] if lacks_unk(tensors, words) else []
    known = [number for number in range(size) if number not in lacking]
    order = [*known, *lacking, *range(size, len(words))]
    place_V = torch.tensor(order).argsort()
    in_order = [words[number] for number in order]
    found = dict(tensors)
    for name in WORD_MATRICES:
        if name in tensors:
            old_VE = tensors[name][known]
            found[name] = torch.cat([old_VE, new_rows(old_VE, in_order, how)])[place_V]
    if BIAS in tensors:
        old_V = tensors[BIAS][known]
        found[BIAS] = torch.cat([old_V, new_biases(old_V, count_V[order])])[place_V]
    return found


def lacks_unk(tensors: dict[str, Tensor], words: Sequence[str]) -> bool:
    """Whether the `<unk>` of a model is that of `wordtie import`, for which nothing was learnt."""
    return BIAS in tensors and float(tensors[BIAS][words.index(UNK)]) <= UNTRAINED_BIAS


def new_rows(weight_VE: Tensor, words: Sequence[str], how: NewWords) -> Tensor:
    """Return rows (W, E) for the words after the first V."""
    mean_E = weight_VE.mean(0)
    rows_WE = mean_E.repeat(len(words) - len(weight_VE), 1)
    return rows_WE if how == "mean" else _by_spelling(weight_VE, words, rows_WE)


def _by_spelling(weight_VE: Tensor, words: Sequence[str], rows_WE: Tensor) -> Tensor:
    old, new = words[: len(weight_VE)], words[len(weight_VE) :]
    number: dict[str, int] = {}
    spelt = ["" if word == UNK else word for word in new]
    of_new = [[number.setdefault(gram, len(number)) for gram in character_ngrams(word)] for word in spelt]
    pairs = [
        (number[gram], place)
        for place, word in enumerate(old)
        if word not in (UNK, EOS)
        for gram in character_ngrams(word)
        if gram in number
    ]
    if not pairs:
        return rows_WE
    gram_P, place_P = torch.tensor(pairs).T
    frequency_G = torch.bincount(gram_P, minlength=len(number)).to(weight_VE.dtype)
    sum_GE = weight_VE.new_zeros(len(number), weight_VE.shape[1])
    for gram, place in zip(gram_P.split(PAIRS_AT_ONCE), place_P.split(PAIRS_AT_ONCE), strict=True):
        sum_GE.index_add_(0, gram, weight_VE[place])
    for row_E, grams in zip(rows_WE, of_new, strict=True):
        shared = [gram for gram in grams if frequency_G[gram]]
        if shared:
            weight = 1 / frequency_G[shared]
            row_E.copy_((sum_GE[shared] * weight.square()[:, None]).sum(0) / weight.sum())
    return rows_WE


def character_ngrams(word: str) -> Iterator[str]:
    """Yield the character n-grams of a word in lower case, its ends marked, each once.

    >>> list(character_ngrams("The"))
    ['<th', 'the', 'he>', '<the', 'the>', '<the>']
    """
    marked = f"<{word.lower()}>"
    lengths = range(SHORTEST, min(LONGEST, len(marked)) + 1)
    yield from dict.fromkeys(
        marked[first : first + length] for length in lengths for first in range(len(marked) - length + 1)
    )


def new_biases(bias_V: Tensor, count_V: Tensor) -> Tensor:
    """Return biases (W,) for the words after the first V: the mean of old words whose counts are in the same octave."""
    octave_V = count_V.clamp(min=1).double().log2().floor().long().cpu()
    of_old, of_new = octave_V[: len(bias_V)], octave_V[len(bias_V) :]
    size = int(octave_V.max()) + 1
    sums = torch.zeros(size, dtype=bias_V.dtype).index_add_(0, of_old, bias_V.cpu())
    counts = torch.bincount(of_old, minlength=size)
    filled = counts.nonzero().flatten()
    nearest = filled[(of_new[:, None] - filled[None]).abs().argmin(1)]
    return (sums[nearest] / counts[nearest]).to(bias_V)
