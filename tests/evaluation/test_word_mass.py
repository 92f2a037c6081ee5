"""Probability masses against sums taken word by word."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from wordtie.config import ModelSettings
from wordtie.data.vocabulary import Vocabulary
from wordtie.evaluation.word_mass import frequent_ids, text_mass, word_mass
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import Network

WORDS = ("the", "<eos>", "a", "<unk>", "of", "cat")


def test_frequent_words_are_words() -> None:
    vocabulary = Vocabulary(WORDS)
    assert [WORDS[n] for n in frequent_ids(vocabulary, 3)] == ["the", "a", "of"]
    assert [WORDS[n] for n in frequent_ids(vocabulary, 1)] == ["the"]
    assert [WORDS[n] for n in frequent_ids(vocabulary, 99)] == ["the", "a", "of", "cat"]
    assert frequent_ids(vocabulary, 10**20) == [0, 2, 4, 5]
    assert [WORDS[n] for n in frequent_ids(vocabulary, 2, [3, 5, 1, 0, 2])] == ["cat", "the"]


def test_masses_of_one_distribution() -> None:
    mass = word_mass(np.array([0.1, 0.2, 0.05, 0.3, 0.15, 0.2]), Vocabulary(WORDS), 2)
    assert [mass.unk, mass.frequent] == pytest.approx([0.3, 0.15])
    assert word_mass(np.arange(6.0), Vocabulary(WORDS), 2, range(5, -1, -1)).frequent == 5 + 4


def test_masses_over_a_text() -> None:
    torch.manual_seed(1)
    vocabulary = Vocabulary(WORDS)
    model = LanguageModel(ModelSettings(hidden=4, init=1.0), len(WORDS))
    ids = np.array([0, 5, 3, 2, 3, 1, 0], np.int32)
    found = text_mass(Network(model, vocabulary), ids, 2)
    with torch.no_grad():
        inputs = torch.tensor([vocabulary.eos_id, *ids[:-1].tolist()])[:, None]
        query, _ = model.eval()(inputs, model.initial_state(1))
        given = [word_mass(p, vocabulary, 2) for p in model.logits(query).softmax(1)]
    assert found.tokens == 7
    assert found.predicted.unk == pytest.approx(sum(each.unk for each in given) / 7, rel=1e-5)
    assert found.predicted.frequent == pytest.approx(sum(each.frequent for each in given) / 7, rel=1e-5)
    assert (found.found.unk, found.found.frequent) == (2 / 7, 3 / 7)
    others = [each.unk for each, word in zip(given, ids.tolist(), strict=True) if word != vocabulary.unk_id]
    assert found.elsewhere.unk == pytest.approx(sum(others) / 5, rel=1e-5)
    others = [each.frequent for each, word in zip(given, ids.tolist(), strict=True) if word not in (0, 2)]
    assert found.elsewhere.frequent == pytest.approx(sum(others) / 4, rel=1e-5)


def test_the_last_word_again() -> None:
    torch.manual_seed(1)
    vocabulary = Vocabulary(WORDS)
    model = LanguageModel(ModelSettings(hidden=4, init=1.0), len(WORDS))
    ids = np.array([1, 5, 5, 2, 3, 3, 3], np.int32)  # <eos> comes after <eos>, too
    found = text_mass(Network(model, vocabulary), ids, 2)
    read = [vocabulary.eos_id, *ids[:-1].tolist()]
    with torch.no_grad():
        query, _ = model.eval()(torch.tensor(read)[:, None], model.initial_state(1))
        given = [float(p[last]) for p, last in zip(model.logits(query).softmax(1), read, strict=True)]
    assert found.predicted.repeat == pytest.approx(sum(given) / 7, rel=1e-5)
    assert found.found.repeat == 4 / 7
    others = [p for p, last, word in zip(given, read, ids.tolist(), strict=True) if last != word]
    assert found.elsewhere.repeat == pytest.approx(sum(others) / 3, rel=1e-5)


def test_one_token_or_none_where_something_else_came() -> None:
    torch.manual_seed(1)
    vocabulary = Vocabulary(WORDS)
    model = LanguageModel(ModelSettings(hidden=4, init=1.0), len(WORDS))
    first, both = (text_mass(Network(model, vocabulary), np.array(ids, np.int32), 2) for ids in ([0], [0, 3]))
    assert both.elsewhere.unk == pytest.approx(first.predicted.unk)
    assert first.elsewhere.frequent == 0, "not NaN"
