"""Notes on texts that a model reads otherwise than meant."""

from __future__ import annotations

import pytest

from wordtie.text.tokenisation import Kind, Tokenisation
from wordtie.text.tokenizer import Tokenizer
from wordtie.text.vocabulary import Vocabulary
from wordtie.uses.misread import hanging_marks, misread, other_marks, several_sentences, written_ends

WORDS = ["<unk>", "<eos>", "the", "u.s.", "cat", "sat", ".", "Cat", ","]


def tokenizer(kind: Kind, sentences: bool = True) -> Tokenizer:
    return Tokenizer(Tokenisation(kind, sentences=sentences), Vocabulary(WORDS))


@pytest.mark.parametrize(
    ("kind", "line", "named"),
    [
        ("space", "the cat, sat.", "cat, sat."),
        ("space", "the (cat) sat .", "(cat)"),
        ("space", "the cat , sat . in the u.s.", None),
        ("space", "dog. the cat sat .", None),
        ("words", "the cat, sat.", None),
    ],
)
def test_words_that_only_their_punctuation_makes_unknown(kind: Kind, line: str, named: str | None) -> None:
    found = hanging_marks(tokenizer(kind), [line])
    assert [note.partition(": ")[2].partition(";")[0] for note in found] == ([] if named is None else [named])


@pytest.mark.parametrize(
    ("words", "line", "named"),
    [
        (["don't", '"'], "I don’t “ know ” I didn’t", "don’t “ ”"),
        (["don’t", "“"], "don't \" 'twas", "don't \""),
        (["don't", "don’t"], "don’t don't", None),
    ],
)
def test_words_that_only_their_quotation_marks_make_unknown(words: list[str], line: str, named: str | None) -> None:
    of_words = Tokenizer(Tokenisation("words"), Vocabulary(["<unk>", "<eos>", *words]))
    found = other_marks(of_words, [line])
    assert [note.partition(": ")[2].partition(";")[0] for note in found] == ([] if named is None else [named])
    assert misread(of_words, [line]) == found


def test_several_sentences_on_a_line() -> None:
    lines = ["The cat sat. The cat sat.", "Mr. Smith sat.", "The cat sat ."]
    assert several_sentences(tokenizer("words"), lines)[0].startswith("1 of the first 3 lines hold several sentences")
    assert several_sentences(tokenizer("words"), lines[1:]) == []
    assert several_sentences(tokenizer("words", sentences=False), lines) == []


def test_ends_that_a_text_writes_itself() -> None:
    lines = ["the cat sat . <eos>", "the cat", "<eos>"]
    assert written_ends(tokenizer("space"), lines)[0].startswith("2 of the first 3 lines have <eos> in them")
    assert written_ends(tokenizer("space"), lines[1:2]) == []
    assert written_ends(tokenizer("space", sentences=False), lines) == []
