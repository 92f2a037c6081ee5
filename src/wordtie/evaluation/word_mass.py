"""How much probability a model gives to words that say little: `<unk>`, the most frequent words, the last word again.

Inan, Khosravi & Socher (2017), section 6.4: models with the augmented loss and tied vectors give less of it to `<unk>`,
which is no word in particular, and to words such as "a", "an" and "the", which resemble no other. Press & Wolf (2017),
section 3: an untied model may learn not to repeat the word that it has read; a tied one is less free to.

Shapes: V words, N tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from wordtie.data.batches import Ids
from wordtie.data.vocabulary import Vocabulary
from wordtie.evaluation.perplexity import queries
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import LogProbabilities, evaluating
from wordtie.models.next_word import Floats

FREQUENT = 50
"""How many of the most frequent words are taken together."""


@dataclass(frozen=True)
class WordMass:
    """Probabilities, or shares of a text."""

    unk: float
    """Of `<unk>`."""
    frequent: float
    """Of the most frequent words together; `<unk>` and `<eos>` are not among them."""
    repeat: float | None = None
    """Of the word that was read last, in a text: the current word again."""


@dataclass(frozen=True)
class TextMass:
    """Means over the tokens of a text."""

    predicted: WordMass
    """What the model gave, before each token."""
    found: WordMass
    """What came."""
    elsewhere: WordMass
    """What the model gave where something else came: as much as was given in vain."""
    tokens: int


def frequent_ids(vocabulary: Vocabulary, count: int) -> list[int]:
    """Ids of the most frequent words of the training text; ids go by frequency."""
    special = (vocabulary.unk_id, vocabulary.eos_id)
    return [number for number in range(min(len(vocabulary), count + 2)) if number not in special][:count]


def word_mass(probability_V: Floats, vocabulary: Vocabulary, count: int) -> WordMass:
    """The masses in one distribution."""
    frequent = probability_V[frequent_ids(vocabulary, count)].sum()
    return WordMass(float(probability_V[vocabulary.unk_id]), float(frequent))


def text_mass(model: LanguageModel, vocabulary: Vocabulary, ids: Ids, count: int = FREQUENT) -> TextMass:
    """The masses before every token of a text of word ids, (N,): one stream, the first token predicted from `<eos>`."""
    groups = ([vocabulary.unk_id], frequent_ids(vocabulary, count))
    given, elsewhere = np.zeros(3), np.zeros(3)
    read = np.concatenate([[vocabulary.eos_id], ids[:-1]])
    came = np.array([*(np.isin(ids, group).sum() for group in groups), (read == ids).sum()], np.float64)
    log_probabilities = LogProbabilities(model)
    first = 0
    with evaluating(model) as device:
        for query, targets in queries(model, ids, vocabulary.eos_id, 1, device):
            for log_p, here in log_probabilities(query, targets):
                last_N1 = torch.from_numpy(read[first : first + len(here)]).to(device)[:, None]
                first += len(here)
                repeated_N = log_p.gather(1, last_N1)[:, 0].exp().double()
                given[2] += float(repeated_N.sum())
                elsewhere[2] += float(repeated_N[here != last_N1[:, 0]].sum())
                for number, group in enumerate(groups):
                    mass_N = log_p[:, group].exp().sum(1).double()
                    given[number] += float(mass_N.sum())
                    elsewhere[number] += float(mass_N[~torch.isin(here, torch.tensor(group, device=device))].sum())
    others = np.maximum(len(ids) - came, 1)
    predicted, found, vain = (
        WordMass(*sums.tolist()) for sums in (given / len(ids), came / len(ids), elsewhere / others)
    )
    return TextMass(predicted, found, vain, len(ids))
