"""Notes on texts that a model reads otherwise than meant."""

from __future__ import annotations

import pytest

from wordtie.data.input_warnings import (
    blank_lines,
    equal_texts,
    misread,
    of_columns,
    of_phrases,
    of_table,
    refuse_single_words,
    refuse_table,
    several_sentences,
    unknown_forms,
    written_ends,
)
from wordtie.data.tokenisation import Kind, Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import Vocabulary
from wordtie.errors import DataError

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
    found = unknown_forms(tokenizer(kind), [line])
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
    found = unknown_forms(of_words, [line])
    assert [note.partition(": ")[2].partition(";")[0] for note in found] == ([] if named is None else [named])
    assert misread(of_words, [line]) == found


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("The caf\u00e9", "their capitals: The"),
        ("the cafe\u0301", "how letters and marks are composed: cafe\u0301"),
        ("the <eos> sat", None),
        ("THE", "their capitals: THE"),
        ("Dog", None),
    ],
)
def test_words_that_only_their_letters_make_unknown(line: str, named: str | None) -> None:
    of_words = Tokenizer(Tokenisation("space"), Vocabulary(["<unk>", "<eos>", "the", "caf\u00e9"]))
    found = unknown_forms(of_words, [line])
    assert [note.removeprefix("unknown because of ").partition(";")[0] for note in found] == ([named] if named else [])


def test_words_of_a_phrase_that_are_unknown() -> None:
    assert of_phrases(tokenizer("space"), ["the bird sat", "a bird"]) == [
        "not in the vocabulary, read as <unk>: bird a"
    ]
    assert of_phrases(tokenizer("space"), ["the cat, zzz"])[0].startswith("unknown because of their punctuation: cat,")
    assert of_phrases(tokenizer("space"), ["the cat <unk> <eos>"]) == []


def test_blank_lines_of_a_text() -> None:
    found = blank_lines(tokenizer("space"), ["the cat", "", " ", "sat", ""])
    assert [note.partition(",")[0] for note in found] == ["2 of the first 5 lines are blank"]
    assert blank_lines(tokenizer("space"), ["", "the cat"])[0].startswith("1 of the first 2 lines is blank, and")
    assert blank_lines(tokenizer("space"), ["the cat", ""]) == []
    assert blank_lines(tokenizer("space", sentences=False), ["", "the cat"]) == []


@pytest.mark.parametrize(
    ("line", "several"),
    [
        ("Кот спал. Собака бежала.", True),
        ("А. С. Пушкин писал.", False),
        ("кот спал. собака", False),
        ("კატა წავიდა. ძაღლი დარჩა.", True),
        ("कुत्ता सोया। बिल्ली गई।", True),
        ("कुत्ता सोया।", False),
        ("猫睡了。狗跑了。", True),
        ("the cat sat . the dog ran .", True),
        ("the cat sat .", False),
        ("Dr. No sat.", False),
        ("er sagte «ja.» Ödön ging.", True),
    ],
)
def test_several_sentences_in_any_script(line: str, several: bool) -> None:
    assert bool(several_sentences(tokenizer("words"), [line])) == several


def test_several_sentences_on_a_line() -> None:
    lines = ["The cat sat. The cat sat.", "Mr. Smith sat.", "The cat sat ."]
    assert several_sentences(tokenizer("words"), lines)[0].startswith("1 of the first 3 lines holds several sentences")
    assert several_sentences(tokenizer("words"), lines[1:]) == []
    assert several_sentences(tokenizer("words", sentences=False), lines) == []


def test_ends_that_a_text_writes_itself() -> None:
    lines = ["the cat sat . <eos>", "the cat", "<eos>"]
    assert written_ends(tokenizer("space"), lines)[0].startswith("2 of the first 3 lines have <eos>, beside")
    assert written_ends(tokenizer("space"), lines[1:])[0].startswith("1 of the first 2 lines has <eos>, beside")
    assert written_ends(tokenizer("space"), lines[:1])[0].startswith("the first line has <eos>, beside")
    assert written_ends(tokenizer("space"), lines[1:2]) == []
    assert written_ends(tokenizer("space", sentences=False), lines) == []


@pytest.mark.parametrize("cells", [["the", "cat", "sat."], ["cat,", "-", "don't,he"], ["the"] * 2])
def test_a_column_of_single_words_is_refused(cells: list[str]) -> None:
    with pytest.raises(DataError, match="items: column word has one word a row"):
        refuse_single_words(tokenizer("words"), cells, "items", "word")


@pytest.mark.parametrize("cells", [["the"], [], ["the", "the cat"], ["the", ""], ["the,cat.sat", "the,cat"]])
def test_a_column_of_sentences_is_not(cells: list[str]) -> None:
    """Not the last ones either, which have no blanks and several words."""
    refuse_single_words(tokenizer("words"), cells, "items", "word")


def test_a_table_is_not_text() -> None:
    """Its header is the first line that is not blank."""
    with pytest.raises(DataError, match=r"t.tsv: looks like a table with the columns item, word: name the one"):
        refuse_table("t.tsv", ["", "item\tword", "1\tthe"])
    assert of_table("t.tsv", ["item\tword"])[0].startswith("t.tsv looks like a table with the columns item, word: ")
    for lines in ([], [""], ["the cat", "1\tthe"]):
        refuse_table("t.tsv", lines)
        assert of_table("t.tsv", lines) == []


@pytest.mark.parametrize(
    ("name", "lines", "said"),
    [
        ("stdin", ["item\tword", "", "1\tthe", ""], "stdin: each of the first 2 lines has 1 tab, as in a table"),
        ("a", ["a\tb\tc", "\t\t."], "a: each of the first 2 lines has 2 tabs, as in a table"),
        ("a.csv.gz", ["item, word", "1, the"], "a.csv.gz: each of the first 2 lines has 1 comma, as in a table"),
        ("a", ["item, word", "1, the"], None),
        ("a", ["item\tword", "1 the"], None),
        ("a", ["item\tword"], None),
        ("a", ["the cat", "sat"], None),
        ("a", [], None),
    ],
)
def test_lines_that_have_the_same_number_of_tabs(name: str, lines: list[str], said: str | None) -> None:
    found = of_columns(name, lines)
    assert [note.partition(",")[0] + ", as in a table" for note in found] == ([said] if said else [])
    assert of_table(name, lines) == found


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ("abc", []),
        ("aab", ["the validation text is the training text"]),
        ("aba", ["the test text is the training text"]),
        ("abb", ["the test text is the validation text"]),
        ("aaa", ["the validation text is the training text", "the test text is the training text"]),
    ],
)
def test_splits_with_the_same_text(texts: str, said: list[str]) -> None:
    found = equal_texts("same", dict(zip(("train", "valid", "test"), texts, strict=True)))
    assert [note.partition(",")[0] for note in found] == [f"same: {each}" for each in said]
