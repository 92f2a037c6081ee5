"""The words of a model, in the order of its rows, from what its program keeps them in.

| program | words |
| --- | --- |
| colorlessgreenRNNs | `vocab.txt` in the folder of the data: words between white space |
| neural-complexity | the file of `--vocab_file`: a word a line; `.bin`: a pickled dictionary |
| PyTorch's word_language_model | none: words of train.txt, valid.txt and test.txt as they first occur, and `<eos>` |

word_language_model reads the three texts in this order, each line as its words between white space and then `<eos>`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from wordtie.checkpoints.pickles import Record
from wordtie.checkpoints.torch_file import DICTIONARY, open_torch_file
from wordtie.data.corpus import SPLITS
from wordtie.data.reading import NOT_UTF8
from wordtie.data.vocabulary import EOS
from wordtie.errors import DataError
from wordtie.storage.opening import regular_file

Kind: TypeAlias = Literal["colorlessgreen", "word_language_model", "neural-complexity"]
"""The program that trained a model."""
WORD_LIST = "vocab.txt"


@dataclass(frozen=True)
class WordList:
    """Words by their rows."""

    words: list[str]
    kind: Kind | None
    """The program that keeps its words like this; None if two do."""
    files: dict[str, str]
    """Name of each file that was read, with its SHA-256."""


def read_words(path: Path, kind: Kind | None = None) -> WordList:
    """Read the words of a file, or of a folder of texts; `kind` is the program, if it is known.

    Raises `DataError` for a file that cannot be read, that has a word twice or no `<eos>`, or that is not what the
    program has.
    """
    texts = path.is_dir() and not (path / WORD_LIST).exists()
    if texts and kind in (None, "word_language_model"):
        found = _of_texts(path)
    elif texts:
        raise DataError(f"{path}: has no {WORD_LIST}, where {kind} keeps its words: name the file that has them")
    elif path.is_dir() and kind == "word_language_model":
        found = _of_texts(path)
    elif path.is_dir():
        found = _of_list(path / WORD_LIST, kind or "colorlessgreen")
    elif kind == "word_language_model":
        raise DataError(f"{path}: word_language_model keeps no file of words: name the folder of its three texts")
    elif path.suffix == ".bin":
        found = _of_dictionary(path)
    else:
        found = _of_list(path, kind)
    return _checked(path, found)


def _of_list(path: Path, kind: Kind | None) -> WordList:
    digest = hashlib.sha256()
    words = [word for line in _lines(path, digest) for word in line.split()]
    return WordList(words, kind, {path.name: digest.hexdigest()})


def _of_texts(folder: Path) -> WordList:
    order: dict[str, None] = {}
    files = {}
    for split in SPLITS:
        path, digest = folder / f"{split}.txt", hashlib.sha256()
        for line in _lines(path, digest):
            for part in line.rstrip("\r\n").split("\r"):  # which ends a line in Python's text files
                order.update(dict.fromkeys([*part.split(), EOS]))
        files[path.name] = digest.hexdigest()
    return WordList(list(order), "word_language_model", files)


def _of_dictionary(path: Path) -> WordList:
    with open_torch_file(path) as file:
        root = file.root
    if isinstance(root, tuple) and len(root) > 3:  # the first version stored the texts, too
        root = root[3]
    words = root.state.get("idx2word") if isinstance(root, Record) and root.path == DICTIONARY else None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise DataError(f"{path}: holds no vocabulary of neural-complexity: name the file of its --vocab_file")
    with path.open("rb") as content:
        return WordList(words, "neural-complexity", {path.name: hashlib.file_digest(content, "sha256").hexdigest()})


def _lines(path: Path, digest: hashlib._Hash) -> Iterator[str]:
    """Yield lines as Python's text files have them, which the programs read. Raises `DataError`."""
    try:
        with open(path, "rb", opener=regular_file) as file:
            for number, line in enumerate(file, 1):
                digest.update(line)
                try:
                    yield line.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise DataError(f"{path}, line {number}: {NOT_UTF8}") from error
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file; check the path") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def _checked(path: Path, found: WordList) -> WordList:
    seen: set[str] = set()
    for word in found.words:
        if word in seen:
            raise DataError(f"{path}: has the word {word!r:.60} twice: is it a file of words?")
        seen.add(word)
    if EOS not in seen:
        raise DataError(f"{path}: has no {EOS}, with which these models end a sentence: is it the right file?")
    try:
        whole = " ".join(found.words).encode().decode().split() == found.words
    except UnicodeEncodeError:
        whole = False
    if not whole:
        raise DataError(f"{path}: has a word with white space in it, or an empty one: is it a vocabulary?")
    return found
