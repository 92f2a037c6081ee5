"""Dictionaries for keyboards, read back by the rules of their formats."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.commands import SMALL, Capture, output, small_text
from tests.inference.hand_made import Bigrams, hand_made, p
from wordtie import cli
from wordtie.config import DataSettings
from wordtie.config.ngram import NgramSettings
from wordtie.data.tokenisation import Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import Vocabulary
from wordtie.errors import DataError, SaveError, SettingsError
from wordtie.export.dictionaries import entries, frequency, is_word, write_keyman, write_latinime
from wordtie.inference.frequencies import Frequencies
from wordtie.inference.loading import LoadedModel
from wordtie.models.mixture import Mixture
from wordtie.models.recent_words import AdaptiveMixture, RecentWords
from wordtie.ngrams import fit_kneser_ney
from wordtie.ngrams.model import NgramModel

COUNTS = Frequencies({"the": 70, "cat": 20, "sat": 5})


def read_combined(path: Path) -> tuple[dict[str, str], dict[str, tuple[int, dict[str, int]]]]:
    """(header, f and bigrams of each word)."""
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    words: dict[str, tuple[int, dict[str, int]]] = {}
    word = ""
    for line in lines:
        fields = dict(each.split("=") for each in line.strip().split(","))
        if line.startswith("  "):
            words[word][1][fields["bigram"]] = int(fields["f"])
        else:
            assert line.startswith(" word=")
            word = fields["word"]
            assert word not in words
            words[word] = int(fields["f"]), {}
    return dict(each.split("=") for each in header.split(",")), words


def test_f_is_a_logarithm_of_base_1_15() -> None:
    for f in (255, 200, 100, 2):
        assert frequency(1.15 ** (f - 255)) == f
    assert [frequency(p) for p in (2.0, 1e-30, 0.0)] == [255, 1, 1]


def test_words_and_bigrams_for_latinime(tmp_path: Path) -> None:
    """A mark, `<unk>` and `<eos>` are no words; p of a bigram is what the model says after the word."""
    out = write_latinime(entries(hand_made(), COUNTS, bigrams=2), tmp_path / "en.combined", "en_GB")
    header, words = read_combined(out)
    assert (header["dictionary"], header["locale"]) == ("main:en_gb", "en_GB")
    assert list(words) == ["the", "cat", "sat"]
    counted = 70 + 20 + 5 + 3  # each once more
    for word, count in (("the", 71), ("cat", 21), ("sat", 6)):
        assert words[word][0] == round(255 + math.log(count / counted) / math.log(1.15))
    expected = {"cat": p("the", "cat"), "sat": p("the", "sat")}
    assert words["the"][1] == {word: round(255 + math.log(each) / math.log(1.15)) for word, each in expected.items()}


def test_without_counts_words_are_weighted_by_what_the_model_expects() -> None:
    """The vocabulary is in falling order of frequency, so that Zipf's law gives each context its share."""
    model = hand_made()
    contexts = ["the", "cat", "sat", ".", ","]
    share = [1 / (rank + 2.7) for rank in range(1, 6)]
    for entry in (found := entries(model)):
        expected = sum(each * float(p(word, entry.word)) for each, word in zip(share, contexts, strict=True)) / sum(
            share
        )
        assert entry.p == pytest.approx(expected)
    assert [entry.p for entry in found] == sorted((entry.p for entry in found), reverse=True)
    the = next(entry for entry in entries(model, contexts=1) if entry.word == "cat")
    assert the.p == pytest.approx(float(p("the", "cat")))


def test_words_that_are_blocked_or_left_out(tmp_path: Path) -> None:
    found = entries(hand_made(), COUNTS, bigrams=3, blocked=["CAT"])
    _, words = read_combined(write_latinime(found, tmp_path / "a", "en"))
    assert words["cat"] == (0, {})
    assert "cat" not in words["the"][1]
    two = entries(hand_made(), COUNTS, words=2, bigrams=3)
    assert [entry.word for entry in two] == ["the", "cat"]
    assert {word for entry in two for word, _ in entry.bigrams} <= {"the", "cat"}


def test_other_words_take_the_place_of_blocked_ones(tmp_path: Path) -> None:
    found = entries(hand_made(), COUNTS, words=2, bigrams=1, blocked=["The"])
    assert [(entry.word, entry.blocked) for entry in found] == [("cat", False), ("sat", False), ("the", True)]
    assert all(len(entry.bigrams) == 1 for entry in found if not entry.blocked)
    assert "the" not in {word for entry in found for word, _ in entry.bigrams}
    out = write_keyman(found, tmp_path / "list.tsv")
    assert [line.split("\t")[0] for line in out.read_text().splitlines()] == ["cat", "sat"]


def test_counts_for_keyman(tmp_path: Path) -> None:
    out = write_keyman(entries(hand_made(), COUNTS), tmp_path / "list.tsv")
    rows = [line.split("\t") for line in out.read_text(encoding="utf-8").splitlines()]
    assert rows == [[word, str(round(count / 98 * 1e7))] for word, count in (("the", 71), ("cat", 21), ("sat", 6))]


@pytest.mark.parametrize("word", ["<unk>", "<eos>", ".", "1,000", "3rd,", "a=b", "#tag", "x" * 48])
def test_what_is_no_word(word: str) -> None:
    assert not is_word(word)
    assert is_word("don't")
    assert is_word("3rd")


def test_mistakes(tmp_path: Path) -> None:
    found = entries(hand_made(), COUNTS)
    write_keyman(found, tmp_path / "list")
    with pytest.raises(SaveError, match="--overwrite replaces it"):
        write_keyman(found, tmp_path / "list")
    with pytest.raises(SettingsError, match="a locale is like en"):
        write_latinime(found, tmp_path / "a", "en,US")
    with pytest.raises(SettingsError, match="at least one context"):
        entries(hand_made(), contexts=0)
    with pytest.raises(DataError, match="none of the model's words"):
        entries(hand_made(), Frequencies({"zebra": 3}))
    numbers = Bigrams()
    numbers.vocabulary = Vocabulary(("<unk>", "<eos>", "1", "2", "3", ".", ","))
    with pytest.raises(DataError, match="none of the model's words has a letter"):
        entries(replace(hand_made(), model=numbers, tokenizer=Tokenizer(Tokenisation("words"), numbers.vocabulary)))


def test_bigrams_are_of_the_words_that_were_counted_most() -> None:
    """Which need not be the first of the vocabulary, if another program numbered it."""
    found = entries(hand_made(), Frequencies({"sat": 70, "the": 1}), bigrams=2, contexts=1)
    assert [entry.word for entry in found if entry.bigrams] == ["sat"]


def test_new_words_of_an_extended_vocabulary_are_ranked_by_their_frequency() -> None:
    """They come last in it, however frequent they are; the contexts are the words that are frequent."""
    vocabulary = Vocabulary(["<unk>", "<eos>", "a", "the"])
    ids = vocabulary.encode(["the", "a", "<eos>", "the", "<eos>", "the", "the", "<eos>"])
    trie = fit_kneser_ney(ids, len(vocabulary), 2, eos_id=1)
    data = DataSettings(extends="runs/before", tokenisation="space")
    tokenizer = Tokenizer(Tokenisation("space"), vocabulary)
    loaded = LoadedModel(NgramModel(vocabulary, trie), tokenizer, NgramSettings(data), {"train": "of a text"})
    assert [entry.word for entry in entries(loaded, bigrams=1, contexts=1) if entry.bigrams] == ["the"]
    first = replace(loaded, settings=NgramSettings(replace(data, extends=None)))
    assert [entry.word for entry in entries(first, bigrams=1, contexts=1) if entry.bigrams] == ["a"]


def test_recent_words_are_no_bigrams() -> None:
    """A word that was just read is likelier to come again in a text; not right after itself."""
    vocabulary = Vocabulary(["<unk>", "<eos>", "a", "the"])
    ids = vocabulary.encode(["the", "a", "<eos>", "the", "a", "<eos>", "a", "the", "<eos>"])
    tokenizer = Tokenizer(Tokenisation("space"), vocabulary)
    parts = [NgramModel(vocabulary, fit_kneser_ney(ids, len(vocabulary), 2, eos_id=1))]
    models = Mixture(parts, np.ones((1, 1))), AdaptiveMixture(parts, np.ones((1, 1)), RecentWords(0.9, half_life=10))
    plain, recent = (LoadedModel(model, tokenizer, NgramSettings()) for model in models)
    assert recent.predict("the") != plain.predict("the")
    assert entries(recent, bigrams=2) == entries(plain, bigrams=2)


def test_bigrams_are_chosen_among_the_words_that_are_kept() -> None:
    """A likelier word that is left out takes the place of none."""

    def followers(frequencies: Frequencies | None) -> dict[str, list[str]]:
        found = entries(hand_made(), frequencies, words=2, bigrams=1)
        return {entry.word: [word for word, _ in entry.bigrams] for entry in found}

    assert followers(Frequencies({"the": 70, "sat": 20, "cat": 5})) == {"the": ["sat"], "sat": ["the"]}
    assert followers(None) == {"cat": ["sat"], "sat": ["cat"]}


def test_the_commands(own_folder: Path, capsys: Capture) -> None:
    text = small_text(own_folder / "text")
    assert cli.main(["train", str(text), "--out", "run", *SMALL]) == 0
    Path("blocked.txt").write_text("dog\n")
    common = ["--blocked", "blocked.txt", "--overwrite"]
    assert output(["export", "latinime", "run", "a.combined", "--locale", "en", *common], capsys) == "a.combined\n"
    _, words = read_combined(Path("a.combined"))
    assert words["dog"][0] == 0
    assert max(words, key=lambda word: words[word][0]) == "the"
    assert words["the"][1]
    assert output(["export", "keyman", "run", "list.tsv", *common], capsys) == "list.tsv\n"
    counts = dict(line.split("\t") for line in Path("list.tsv").read_text().splitlines())
    assert "dog" not in counts
    assert int(counts["the"]) == max(map(int, counts.values()))
    Path("counts.csv").write_text("word,count\nmat,90\nthe,10\n")
    assert cli.main(["export", "keyman", "run", "list.tsv", "--frequencies", "counts.csv", *common]) == 0
    assert Path("list.tsv").read_text().startswith("mat\t")
    (text / "train.txt").unlink()
    capsys.readouterr()
    assert cli.main(["export", "keyman", "run", "list.tsv", *common]) == 0
    assert "note: weighted by the model's predictions: " in capsys.readouterr().err
