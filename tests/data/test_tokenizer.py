"""Our fast path gives the ids that Hugging Face `tokenizers` gives with the same file."""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st

from wordtie.data.tokenisation import Kind, Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.errors import RunFolderError

WORDS = ["the", "The", "cat", "don't", "3.14", "a", "b", ",", ".", "<", "x-y", "été", "σ", "<eos", "नमस्ते"]
PIECES = [
    *WORDS,
    UNK,
    EOS,
    "<UNK>",
    "<un",
    "k>",
    "'",
    "’",
    "-",
    "1",
    "5,",
    "Σ",
    "İ",
    "ß",
    "😀",
    "𝔘",
    "_",
    "e\u0301",
    "Ⅷ",
    "²",
    "❤",
    "\ufe0f",
    "👍🏽",
    "🇫🇷",
    "\u0323\u0302",
    "\u1100\u1161",
    "\u00ad",
    "\u2011",
    "·",
    "״",
    "՞",
    "\u200f",
    "\U000e0067",
]
SPACES = [" ", "  ", "\n", "\r\n", "\t", "\x1c", "\x85", "\u00a0", "\u200b", "\u2028", "\u200d", "\ufeff", ""]
ASSIGNED = st.characters(codec="utf-8", exclude_categories=["Cs", "Cn", "Co"])
TEXTS = st.lists(st.sampled_from(PIECES + SPACES) | st.text(ASSIGNED, max_size=4)).map("".join)
TEXTS_AND_MODES = (TEXTS, st.sampled_from(["space", "words"]), st.booleans(), st.booleans())


@cache
def tokenizer_of(kind: Kind, lowercase: bool, sentences: bool) -> Tokenizer:
    return Tokenizer(Tokenisation(kind, lowercase, sentences), Vocabulary.from_counts(Counter(WORDS)))


@cache
def hugging_face(kind: Kind, lowercase: bool, sentences: bool) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(tokenizer_of(kind, lowercase, sentences).json)


@given(*TEXTS_AND_MODES)
@example("😀\u200d<unk>", "words", False, True)
def test_agrees_with_hugging_face(text: str, kind: Kind, lowercase: bool, sentences: bool) -> None:
    ours, theirs = tokenizer_of(kind, lowercase, sentences), hugging_face(kind, lowercase, sentences)
    assert ours.encode(text).tolist() == theirs.encode(text).ids


@given(*TEXTS_AND_MODES)
def test_a_line_is_its_words(text: str, kind: Kind, lowercase: bool, sentences: bool) -> None:
    tokenizer, line = tokenizer_of(kind, lowercase, sentences), text.replace("\n", " ")
    known = [word if word in tokenizer.vocabulary else UNK for word in tokenizer.words(line)]
    assert tokenizer.decode(tokenizer.encode(line)) == known
    stretches = [word for stretch in line.split() for word in tokenizer.words(stretch)]
    assert stretches == tokenizer.words(line), "no word crosses white space"


@pytest.mark.parametrize("sentences", [True, False])
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("kind", ["space", "words"])
def test_the_file_says_all(tmp_path: Path, kind: Kind, lowercase: bool, sentences: bool) -> None:
    saved = tokenizer_of(kind, lowercase, sentences)
    saved.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (loaded.tokenisation, loaded.vocabulary) == (saved.tokenisation, saved.vocabulary)
    assert loaded.sentences == sentences
    assert loaded.json == saved.json
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]


def without(content: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name != key}


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: "null",
        lambda text: json.dumps(without(json.loads(text), "model")),
        lambda text: json.dumps(without(json.loads(text), "pre_tokenizer") | {"pre_tokenizer": None}),
        lambda text: text.replace('"the":', '"<eos>":', 1),
        lambda text: text.replace('"the": ', '"the": 9', 1),
        lambda text: json.dumps(json.loads(text) | {"pre_tokenizer": {"pattern": {"Regex": "("}}}),
    ],
    ids=["empty", "cut", "list", "null", "no model", "no pre-tokenizer", "double word", "id too large", "bad regex"],
)
def test_a_damaged_file_is_named_in_one_line(tmp_path: Path, damage: Any) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(damage(json.dumps(json.loads(tokenizer_of("words", True, True).json), ensure_ascii=False)))
    with pytest.raises(RunFolderError, match=r"^[^\n]*tokenizer\.json: damaged[^\n]*$"):
        Tokenizer.load(path)
    with pytest.raises(RunFolderError, match="cannot be read: No such file"):
        Tokenizer.load(tmp_path / "nothing.json")


def test_a_model_keeps_the_rule_that_it_was_trained_with(tmp_path: Path) -> None:
    """A later version may put other characters in the place of some."""
    before = Tokenisation("words", replaced=(("[qx]", "k"),))
    Tokenizer(before, Vocabulary.from_counts(Counter(WORDS))).save(tmp_path / "tokenizer.json")
    read = Tokenizer.load(tmp_path / "tokenizer.json")
    assert read.tokenisation == before
    assert read.words("é q \u00ada") == ["é", "k", "\u00ad", "a"]
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert read.encode("é q \u00ada").tolist() == theirs.encode("é q \u00ada").ids
