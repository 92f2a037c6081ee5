"""Tokenisation and vocabulary together: what turns a line into ids, stored as a Hugging Face `tokenizer.json`.

`tokenizers.Tokenizer.from_file` and `transformers.PreTrainedTokenizerFast` give the same ids as this class, which
does without them when reading, because they are several times slower than `str.split` or one `re.findall`. The file
says all there is to know: the pre-tokeniser's regular expression is the tokenisation, the normaliser lowers case and,
where one line is one sentence, turns each line end into `<eos>`.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Iterable
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from wordtie.data.tokenisation import SPACE_PATTERN, Tokenisation, is_one_character, is_written_here
from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.errors import RunFolderError
from wordtie.storage.atomic import write_text
from wordtie.storage.opening import read_regular
from wordtie.storage.strict_json import conform, parse

MOST_BYTES = 1 << 30
"""Most bytes of `tokenizer.json`, enough for tens of millions of words."""


class Tokenizer:
    """Lines to ids and back."""

    def __init__(self, tokenisation: Tokenisation, vocabulary: Vocabulary) -> None:
        self.tokenisation = tokenisation
        self.vocabulary = vocabulary

    def __eq__(self, other: object) -> bool:
        """Whether every line gets the same ids: split by the same rule, into the same words."""
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return self.tokenisation == other.tokenisation and self.vocabulary == other.vocabulary

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Tokenizer({self.tokenisation.kind}, {len(self.vocabulary):,} words)"

    @property
    def sentences(self) -> bool:
        """Whether each line is a sentence of its own, closed by `<eos>`."""
        return self.tokenisation.sentences

    @property
    def sentence_end(self) -> int | None:
        """The id that closes a sentence; None if lines are not sentences."""
        return self.vocabulary.eos_id if self.sentences else None

    def words(self, line: str) -> list[str]:
        """Return the words of a line, known to the vocabulary or not."""
        return self.tokenisation.words(line)

    def encode(self, lines: str) -> NDArray[np.int32]:
        """Return the ids of whole lines, (N,): each line end is `<eos>` if `sentences`, and white space if not."""
        words = self.tokenisation.tokens(lines) if self.sentences else self.words(lines)
        return self.vocabulary.encode(words)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the words of the ids."""
        return [self.vocabulary.words[number] for number in ids]

    @cached_property
    def json(self) -> str:
        """The content of `tokenizer.json`."""
        content = _content(self.tokenisation, self.vocabulary)
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"))

    def save(self, path: str | Path) -> None:
        """Write `tokenizer.json`, whole or not at all. Raises `SaveError`."""
        write_text(Path(path), self.json)

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Read what `save` wrote. Raises `RunFolderError` if the file is missing, damaged or not of this kind."""
        try:
            return cls.from_bytes(read_regular(Path(path)), path)
        except OSError as error:
            raise RunFolderError(f"{path}: cannot be read: {error.strerror}") from error

    @classmethod
    def from_bytes(cls, data: bytes, path: str | Path) -> Tokenizer:
        """Make a tokenizer from the content of the file `path`. Raises `RunFolderError` as `load`."""
        try:
            content = parse(data, MOST_BYTES)
            conform(content, _File)
            tokenisation = _tokenisation(content["normalizer"]["normalizers"], content["pre_tokenizer"])
            vocabulary = _vocabulary(content["model"]["vocab"])
            expected = _content(tokenisation, vocabulary)
            expected["model"]["vocab"] = content["model"]["vocab"]  # checked above, and long
            check_same(content, expected)
        except (ValueError, re.error) as error:
            raise RunFolderError(
                f"{path}: damaged, or not a wordtie tokenizer ({' '.join(str(error).split())}): restore it from a copy"
            ) from error
        return cls(tokenisation, vocabulary)


class _Normalizer(TypedDict):
    normalizers: list[dict[str, Any]]


class _Model(TypedDict):
    vocab: dict[str, int]


class _File(TypedDict):
    """Fields of `tokenizer.json` that are read; the rest must be what wordtie writes with them."""

    normalizer: _Normalizer
    pre_tokenizer: dict[str, Any]
    model: _Model


def _content(tokenisation: Tokenisation, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the content of `tokenizer.json` in the format of Hugging Face `tokenizers`, its names in their order."""
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    added = sorted([(vocabulary.unk_id, UNK), (vocabulary.eos_id, EOS)])
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number, "content": word, **special} for number, word in added],
        "normalizer": {"type": "Sequence", "normalizers": _normalizers(tokenisation)},
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": tokenisation.pattern},
            "behavior": "Removed",
            "invert": True,
        },
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(vocabulary.words)},
            "unk_token": UNK,
        },
    }


def _normalizers(tokenisation: Tokenisation) -> list[dict[str, Any]]:
    line_end = {"type": "Replace", "pattern": {"String": "\n"}, "content": f" {EOS} "}
    return [
        *([line_end] if tokenisation.sentences else []),
        *([{"type": "NFC"}] if tokenisation.composed else []),
        *(
            {"type": "Replace", "pattern": {"Regex": pattern}, "content": new}
            for pattern, new in tokenisation.replaced or ()
        ),
        *([{"type": "Lowercase"}] if tokenisation.lowercase else []),
    ]


def _tokenisation(steps: list[dict[str, Any]], split: dict[str, Any]) -> Tokenisation:
    """Read the tokenisation of a file. Raises `ValueError` for a regular expression that wordtie does not write."""
    pattern = split.get("pattern")
    rule = pattern.get("Regex") if isinstance(pattern, dict) else None
    if not (isinstance(rule, str) and is_written_here(rule)):
        raise ValueError("pre_tokenizer.pattern is not a Regex that wordtie writes")
    replaced = []
    for number, step in enumerate(steps):
        found, new = step.get("pattern"), step.get("content")
        if isinstance(found, dict) and isinstance(found.get("Regex"), str) and isinstance(new, str):
            if not is_one_character(found["Regex"]):
                raise ValueError(f"normalizer.normalizers[{number}].pattern is not a Regex for one character")
            replaced.append((found["Regex"], new))
    kinds = [step.get("type") for step in steps]
    return Tokenisation(
        kind="space" if rule == SPACE_PATTERN else "words",
        lowercase="Lowercase" in kinds,
        sentences=any(step.get("pattern") == {"String": "\n"} for step in steps),
        pattern=rule,
        composed="NFC" in kinds,
        replaced=tuple(replaced),
    )


def _vocabulary(numbers: dict[str, int]) -> Vocabulary:
    if sorted(numbers.values()) != list(range(len(numbers))):
        raise ValueError("model.vocab: its ids are not 0 to V - 1")
    words = sorted(numbers, key=numbers.__getitem__)
    text = " ".join(words)
    text.encode()  # a lone surrogate could not be printed
    if text.split() != words:
        raise ValueError("model.vocab: a word is empty, or has white space in it")
    return Vocabulary(words)


def check_same(found: Any, expected: Any, name: str = "") -> None:
    """Raise `ValueError` for the first field that differs from what this program writes, or that it does not know."""
    if found is expected:
        return
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in [*expected, *found]:
            check_same(found.get(key, ...), expected.get(key, ...), f"{name}.{key}".lstrip("."))
    elif isinstance(found, list) and isinstance(expected, list):
        for number, (each, other) in enumerate(zip_longest(found, expected, fillvalue=...)):
            check_same(each, other, f"{name}[{number}]")
    elif type(found) is not type(expected) or found != expected:
        what = "is missing" if found is ... else f"is not known here: {reprlib.repr(found)}"
        raise ValueError(f"{name} {what}")
