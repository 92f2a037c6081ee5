"""Bits per sentence and minimal pairs."""

from __future__ import annotations

import json
import math
import random

import pytest
import torch

from tests.inference.hand_made import hand_made, p
from wordtie.config import ModelSettings, Settings
from wordtie.data.tokenisation import Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import Vocabulary
from wordtie.errors import DataError, SettingsError
from wordtie.inference.loading import LoadedModel
from wordtie.inference.pairs import Pair, PairScore, accuracy, read_pairs, score_pairs
from wordtie.inference.score import score
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import Network


def test_bits_of_a_sentence_by_hand() -> None:
    """-log2 of p(the | <eos>) p(cat | the) p(sat | cat) p(. | sat) p(<eos> | .)."""
    probability = p("<eos>", "the") * p("the", "cat") * p("cat", "sat") * p("sat", ".") * p(".", "<eos>")
    assert hand_made().score(["The cat sat.", "The cat"]) == pytest.approx([-math.log2(probability), 1 + 1 + 4])
    assert hand_made(sentences=False).score(["The cat sat.", "", "The"]) == pytest.approx([5.0, 0.0, 1.0])
    assert hand_made().score(["The cat sat.\n", "\ufeffThe cat sat.\r\n"]) == hand_made().score(["The cat sat."] * 2)


def test_a_string_is_no_list_of_sentences() -> None:
    with pytest.raises(SettingsError, match="give a list of sentences"):
        hand_made().score("the cat")
    assert hand_made().score([]) == []


def test_a_score_depends_on_nothing_but_its_sentence() -> None:
    """Of an LSTM: not on the batch, on padding, nor on the order."""
    torch.manual_seed(3)
    words = ["<unk>", "<eos>", *"abcdefgh"]
    tokenizer = Tokenizer(Tokenisation("space"), Vocabulary(words))
    model = LanguageModel(ModelSettings(hidden=7, init=0.8), len(words)).use(fused=True).eval().requires_grad_(False)
    loaded = LoadedModel(Network(model, tokenizer.vocabulary), tokenizer, Settings())
    generator = random.Random(4)
    sentences = [" ".join(generator.choices("abcdefgh", k=generator.randint(0, 30))) for _ in range(24)]
    together = loaded.score(sentences)
    assert together == pytest.approx(
        [sum(r.surprisal_bits for r in loaded.surprisal(sentence)) for sentence in sentences], abs=1e-4
    )
    for tokens in (1, 64, 5000):
        assert score(loaded.model, tokenizer, sentences, tokens) == pytest.approx(together, abs=1e-4)
    order = generator.sample(range(24), 24)
    assert loaded.score([sentences[n] for n in order]) == [together[n] for n in order]
    assert loaded.score(["a q", "a r", "a b"])[0] == loaded.score(["a q", "a r", "a b"])[1]  # unknown words alike


def test_two_impossible_sentences_tie() -> None:
    assert PairScore(math.inf, math.inf, oov=True).correct == 0.5
    assert PairScore(math.inf, 3.0, oov=True).correct == 0.0
    assert PairScore(3.0, math.inf, oov=True).correct == 1.0


def test_ties_are_half_and_unknown_words_are_apart() -> None:
    pairs = [
        Pair("the cat", "cat sat"),  # 6 bits; 2 + 1 + 1
        Pair("cat sat.", "the cat"),  # 2 + 1 + 2; 6
        Pair("the dog", "the bird"),  # both <unk>
        Pair("cat dog", "the dog"),  # 2 + 4 + 3; 1 + 2 + 3
    ]
    scores = score_pairs(hand_made(), pairs)
    assert [each.good_bits for each in scores] == pytest.approx([6, 5, 6, 9])
    assert [each.correct for each in scores] == [0, 1, 0.5, 0]
    found = accuracy("all", scores)
    assert (found.pairs, found.accuracy, found.ties, found.oov_pairs) == (4, 1.5 / 4, 1, 2)
    assert found.accuracy_without_oov == 0.5
    assert accuracy("unknown", scores[2:]).accuracy_without_oov is None


BLIMP = [{"sentence_good": "The cat sat.", "sentence_bad": "The sat, cat.", "UID": "x", "one_prefix_method": False}]


@pytest.mark.parametrize(
    "lines",
    [
        [json.dumps(row) for row in BLIMP],
        ["sentence_good,sentence_bad", 'The cat sat.,"The sat, cat."'],
        ["id\tsentence_bad\tsentence_good", "", "1\tThe sat, cat.\tThe cat sat."],
    ],
    ids=["jsonl", "csv", "tsv"],
)
def test_files_of_pairs(lines: list[str]) -> None:
    assert read_pairs(lines, "pairs") == [Pair("The cat sat.", "The sat, cat.")]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["good,bad", "a,b"], "pairs, line 1: has no column sentence_good, only good, bad"),
        (["sentence_good,sentence_bad"], "pairs: has no pairs, only a header"),
        (["sentence_good,sentence_bad", "a,b", "a, "], "pairs, line 3: has no sentence in column sentence_bad"),
        (["sentence_good,sentence_bad", "a"], "pairs, line 2: has 1 cells where line 1 has 2"),
        (['{"sentence_good": "a", "sentence_bad": null}'], "pairs, line 1: has no sentence in column sentence_bad"),
    ],
)
def test_bad_files_of_pairs_are_said_by_line(lines: list[str], says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_pairs(lines, "pairs")
