"""A model whose every probability can be worked out with a pencil: what it expects depends on the last word alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from wordtie.config import Settings
from wordtie.data.batches import PADDING, Ids
from wordtie.data.tokenisation import Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import Vocabulary
from wordtie.inference.loading import LoadedModel

WORDS = ("<unk>", "<eos>", "the", "cat", "sat", ".", ",")
NEXT = {
    "<eos>": (0, 0, 16, 8, 4, 2, 2),
    "the": (8, 0, 0, 16, 8, 0, 0),
    "cat": (2, 2, 0, 0, 16, 8, 4),
    "sat": (0, 16, 4, 4, 0, 8, 0),
    ".": (0, 32, 0, 0, 0, 0, 0),
    ",": (0, 0, 16, 16, 0, 0, 0),
    "<unk>": (4, 4, 4, 4, 8, 4, 4),
}
"""32 times the probability of each of `WORDS`."""


def p(before: str, word: str) -> Fraction:
    """Of a word after another."""
    return Fraction(NEXT[before][WORDS.index(word)], 32)


class Bigrams:
    """A `NextWordModel`; its state is the last words, (B,)."""

    vocabulary = Vocabulary(WORDS)
    table_VV = np.array([NEXT[word] for word in WORDS]) / 32

    def initial_state(self, streams: int) -> Any:
        return np.full(streams, WORDS.index("<eos>"))

    def score(self, ids_TB: Ids, state: Any, entropy: bool = False) -> Any:
        before_TB = np.vstack([state[None], ids_TB])[:-1]
        there_TB = ids_TB != PADDING
        p_TBV = self.table_VV[np.where(there_TB, before_TB, 1)]
        with np.errstate(divide="ignore", invalid="ignore"):
            p_TB = np.take_along_axis(p_TBV, np.where(there_TB, ids_TB, 1)[..., None], -1)[..., 0]
            entropy_TB = -np.nan_to_num(p_TBV * np.log(p_TBV)).sum(-1) if entropy else None
            return np.where(there_TB, np.log(p_TB), 0.0), entropy_TB, ids_TB[-1]

    def distributions(self, ids_TB: Ids, state: Any) -> Any:
        return self.table_VV[np.vstack([state[None], ids_TB])[:-1]], ids_TB[-1]

    def next(self, state: Any) -> Any:
        with np.errstate(divide="ignore"):
            return np.log(self.table_VV[state])

    def advance(self, ids_TB: Ids, state: Any) -> Any:
        return ids_TB[-1]

    def select(self, state: Any, streams: Sequence[int] | Any) -> Any:
        raise NotImplementedError


def hand_made(sentences: bool = True) -> LoadedModel:
    """The model with its tokenizer, which splits off punctuation and folds case."""
    model = Bigrams()
    tokenizer = Tokenizer(Tokenisation("words", lowercase=True, sentences=sentences), model.vocabulary)
    return LoadedModel(model, tokenizer, Settings())
