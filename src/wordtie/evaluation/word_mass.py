"""How much probability a model gives to words that say little: `<unk>`, the most frequent words, the last word again.

Inan, Khosravi & Socher (2017), section 6.4: models with the augmented loss and tied vectors give less of it to `<unk>`,
which is no word in particular, and to words such as "a", "an" and "the", which resemble no other. Press & Wolf (2017),
section 3: an untied model may learn not to repeat the word that it has read; a tied one is less free to.

Shapes: N tokens of a text, T of a piece of it, V words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from wordtie.data.batches import Ids
from wordtie.data.vocabulary import Vocabulary
from wordtie.models.mixture import VALUES_AT_ONCE
from wordtie.models.next_word import Floats, NextWordModel

FREQUENT = 50
"""Number of the most frequent words that are taken together."""


@dataclass(frozen=True)
class WordMass:
    """Probabilities, or shares of a text."""

    unk: float
    """Probability of `<unk>`."""
    frequent: float
    """Probability of the most frequent words together; `<unk>` and `<eos>` are not among them."""
    repeat: float | None = None
    """Probability that the word that was read last is repeated; None outside a text."""


@dataclass(frozen=True)
class TextMass:
    """Means over the tokens of a text."""

    predicted: WordMass
    """Predicted by the model, before each token."""
    found: WordMass
    """Share of the tokens that were such a word."""
    elsewhere: WordMass
    """Predicted by the model where another word came: wasted probability."""
    tokens: int


def frequent_ids(vocabulary: Vocabulary, count: int, order: Iterable[int] | None = None) -> list[int]:
    """Return the first ids of an order, those of the most frequent words if it is by frequency; no `<unk>`, no `<eos>`.

    `order` None: the order of the ids, which wordtie numbers by frequency.
    """
    special = (vocabulary.unk_id, vocabulary.eos_id)
    ids = range(len(vocabulary)) if order is None else order
    return list(islice((number for number in ids if number not in special), min(count, len(vocabulary))))


def word_mass(
    probability_V: Floats, vocabulary: Vocabulary, count: int, order: Iterable[int] | None = None
) -> WordMass:
    """Return the masses in one distribution; `order` is as in `frequent_ids`."""
    frequent = probability_V[frequent_ids(vocabulary, count, order)].sum()
    return WordMass(float(probability_V[vocabulary.unk_id]), float(frequent))


def text_mass(
    model: NextWordModel[Any], ids_N: Ids, count: int = FREQUENT, order: Iterable[int] | None = None
) -> TextMass:
    """Return the mean masses over the tokens of a text: one stream, the first token predicted from `<eos>`.

    `order` is as in `frequent_ids`.
    """
    vocabulary, state = model.vocabulary, model.initial_state(1)
    groups = ([vocabulary.unk_id], frequent_ids(vocabulary, count, order))
    read_N = np.concatenate([[vocabulary.eos_id], ids_N[:-1]])
    came = np.array([*(np.isin(ids_N, group).sum() for group in groups), (read_N == ids_N).sum()], np.float64)
    given, elsewhere = np.zeros(3), np.zeros(3)
    steps = max(1, VALUES_AT_ONCE // len(vocabulary))
    for first in range(0, len(ids_N), steps):
        here_T, last_T = (np.asarray(each[first : first + steps], np.int64) for each in (ids_N, read_N))
        p_T1V, state = model.distributions(here_T[:, None], state)
        p_TV = p_T1V[:, 0].astype(np.float64)
        masses = [*(p_TV[:, group].sum(1) for group in groups), np.take_along_axis(p_TV, last_T[:, None], 1)[:, 0]]
        others = [*(~np.isin(here_T, group) for group in groups), here_T != last_T]
        given += [mass_T.sum() for mass_T in masses]
        elsewhere += [mass_T[other_T].sum() for mass_T, other_T in zip(masses, others, strict=True)]
    in_vain = elsewhere / np.maximum(len(ids_N) - came, 1)
    predicted, found, vain = (WordMass(*sums.tolist()) for sums in (given / len(ids_N), came / len(ids_N), in_vain))
    return TextMass(predicted, found, vain, len(ids_N))
