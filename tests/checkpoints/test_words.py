"""Words of the programs by their rows: lists, texts in the order of word_language_model, pickled dictionaries."""

from __future__ import annotations

import hashlib
import os
import pickle
from pathlib import Path

import pytest
import torch

from tests.checkpoints.test_pickles import MARKER, Evil
from tests.reference.rnn_model import in_its_module
from wordtie.checkpoints.words import Kind, read_words
from wordtie.errors import DataError

LIST = "<unk>\n<eos>\nthe\ncat\n"
TEXTS = {
    "train": "the cat sat\n\nthe dog  sat\ton a mat\n",
    "valid": "a new word\r\n",
    "test": "the last <unk> dog",
}


def texts(folder: Path, **contents: str) -> Path:
    """A folder as `--data` of the programs names it."""
    folder.mkdir()
    for split, content in {**TEXTS, **contents}.items():
        (folder / f"{split}.txt").write_bytes(content.encode())
    return folder


@pytest.mark.parametrize("content", [LIST, LIST.replace("\n", "\r\n"), LIST.replace("\n", " "), LIST.strip()])
def test_words_of_a_list_are_those_between_white_space(content: str, tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(content.encode())
    found = read_words(path)
    assert found.words == ["<unk>", "<eos>", "the", "cat"]
    assert found.kind is None
    assert found.files == {"vocab.txt": hashlib.sha256(content.encode()).hexdigest()}
    assert read_words(path, "neural-complexity").kind == "neural-complexity"


def test_a_folder_with_a_list_is_of_colorlessgreen(tmp_path: Path) -> None:
    folder = texts(tmp_path / "data")
    (folder / "vocab.txt").write_text(LIST)
    assert (read_words(folder).kind, read_words(folder).words) == ("colorlessgreen", LIST.split())
    assert read_words(folder, "neural-complexity").words == LIST.split()
    assert read_words(folder, "word_language_model").words[:2] == ["the", "cat"]


def in_order(folder: Path) -> list[str]:
    """As word_language_model says: line by line as Python reads them, train, valid, test, `<eos>` after each line."""
    words: list[str] = []
    for split in ("train", "valid", "test"):
        with (folder / f"{split}.txt").open(encoding="utf-8") as file:
            for line in file:
                words += [word for word in [*line.split(), "<eos>"] if word not in words]
    return sorted(set(words), key=words.index)


@pytest.mark.parametrize(
    "train", [TEXTS["train"], "\n\none\n", "a b\rc d\r\ne\n", "a\u2028b \x1c c\n", "\ufeffthe\n", ""]
)
def test_words_of_texts_come_as_they_first_occur(train: str, tmp_path: Path) -> None:
    folder = texts(tmp_path / "data", train=train)
    found = read_words(folder)
    assert found.words == in_order(folder)
    assert found.kind == "word_language_model"
    assert sorted(found.files) == ["test.txt", "train.txt", "valid.txt"]


def test_the_order_by_hand(tmp_path: Path) -> None:
    words = "the cat sat <eos> dog on a mat new word last <unk>"
    assert read_words(texts(tmp_path / "data"), "word_language_model").words == words.split()


class Dictionary:
    """Pickled as neural-complexity pickles its own."""

    def __init__(self, words: list[str]) -> None:
        self.idx2word = words
        self.word2idx = {word: number for number, word in enumerate(words)}


Dictionary.__module__ = "data"


@pytest.mark.parametrize("old", [False, True], ids=["alone", "with texts"])
@pytest.mark.parametrize("zipped", [False, True], ids=["old", "zip"])
def test_words_of_a_pickled_dictionary(zipped: bool, old: bool, tmp_path: Path) -> None:
    words = Dictionary(LIST.split())
    content = ([1], [2], [3], words) if old else words
    with in_its_module(Dictionary):
        torch.save(content, tmp_path / "vocab.bin", _use_new_zipfile_serialization=zipped)
    found = read_words(tmp_path / "vocab.bin")
    assert (found.words, found.kind) == (LIST.split(), "neural-complexity")
    assert list(found.files) == ["vocab.bin"]


def test_a_pickled_dictionary_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save(Evil(os.system, f"touch {MARKER}"), "vocab.bin")
    with pytest.raises(DataError, match=r"vocab\.bin: names posix\.system"):
        read_words(Path("vocab.bin"))
    assert not Path(MARKER).exists()
    torch.save({"idx2word": ["a"]}, "vocab.bin")
    with pytest.raises(DataError, match="holds no vocabulary of neural-complexity"):
        read_words(Path("vocab.bin"))
    Path("vocab.bin").write_bytes(pickle.dumps(["a"]))
    with pytest.raises(DataError, match=r"not a file of torch\.save"):
        read_words(Path("vocab.bin"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"<unk> <eos> the the", "has the word 'the' twice"),
        (b"<unk> the", "has no <eos>, with which these models end a sentence"),
        (b"", "has no <eos>"),
        (b"<eos>\n<unk>\ncaf\xe9\n", "vocab.txt, line 3: not UTF-8"),
    ],
)
def test_files_that_are_no_vocabulary_are_refused(content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_bytes(content)
    with pytest.raises(DataError, match=says):
        read_words(tmp_path / "vocab.txt")


@pytest.mark.parametrize("words", [["<eos>", "two words"], ["<eos>", ""], ["<eos>", "\ud800"]])
def test_a_dictionary_of_other_than_words_is_refused(words: list[str], tmp_path: Path) -> None:
    with in_its_module(Dictionary):
        torch.save(Dictionary(words), tmp_path / "vocab.bin")
    with pytest.raises(DataError, match="has a word with white space in it, or an empty one"):
        read_words(tmp_path / "vocab.bin")


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("none.txt", None, "none.txt: there is no such file"),
        ("data", "colorlessgreen", "data: has no vocab.txt, where colorlessgreen keeps its words"),
        ("data", "neural-complexity", "data: has no vocab.txt, where neural-complexity keeps its words"),
        ("list.txt", "word_language_model", "list.txt: word_language_model keeps no file of words"),
        ("empty", None, "train.txt: there is no such file"),
        ("pipe", None, "pipe: cannot be read: not a regular file"),
    ],
)
def test_what_the_program_does_not_have_is_said(name: str, kind: Kind | None, says: str, tmp_path: Path) -> None:
    texts(tmp_path / "data")
    (tmp_path / "list.txt").write_text(LIST)
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match=says):
        read_words(tmp_path / name, kind)
