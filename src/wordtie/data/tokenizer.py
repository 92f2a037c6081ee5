"""Tokenisation and vocabulary together: what turns a line into ids, stored as a Hugging Face `tokenizer.json`.

`tokenizers.Tokenizer.from_file` and `transformers.PreTrainedTokenizerFast` give the same ids as this class, which
does without them when reading, because they are several times slower than `str.split` or one `re.findall`. The file
says all there is to know: the pre-tokeniser's regular expression is the tokenisation, the normaliser lowers case and,
where one line is one sentence, turns each line end into `<eos>`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordtie.data.tokenisation import SPACE_PATTERN, Tokenisation
from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.errors import RunFolderError
from wordtie.storage.atomic import write_text


class Tokenizer:
    """Lines to ids and back."""

    def __init__(self, tokenisation: Tokenisation, vocabulary: Vocabulary) -> None:
        self.tokenisation = tokenisation
        self.vocabulary = vocabulary

    def __eq__(self, other: object) -> bool:
        """Whether every line comes to the same ids: cut by the same rule, into the same words."""
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

    def words(self, line: str) -> list[str]:
        """The words of a line, known to the vocabulary or not."""
        return self.tokenisation.words(line)

    def encode(self, lines: str) -> NDArray[np.int32]:
        """Ids of whole lines, (N,): each line end is `<eos>` if `sentences`, and white space if not."""
        words = self.tokenisation.tokens(lines) if self.sentences else self.words(lines)
        return self.vocabulary.encode(words)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The words of the ids."""
        return [self.vocabulary.words[number] for number in ids]

    @cached_property
    def json(self) -> str:
        """The content of `tokenizer.json`."""
        return _to_json(self.tokenisation, self.vocabulary)

    def save(self, path: str | Path) -> None:
        """Write `tokenizer.json`, whole or not at all. Raises `SaveError`."""
        write_text(Path(path), self.json)

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Read what `save` wrote. Raises `RunFolderError` where the file is missing, damaged or not of this kind."""
        try:
            return cls.from_bytes(Path(path).read_bytes(), path)
        except OSError as error:
            raise RunFolderError(f"{path}: cannot be read: {error.strerror}") from error

    @classmethod
    def from_bytes(cls, data: bytes, path: str | Path) -> Tokenizer:
        """As `load`, of the content that has been read from `path`."""
        try:
            content = json.loads(data.decode("utf-8"))
            return cls(_tokenisation(content), _vocabulary(content))
        except (ValueError, KeyError, TypeError, AttributeError, re.error) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise RunFolderError(
                f"{path}: damaged, or not a wordtie tokenizer ({reason}): take it from a copy"
            ) from error


def _to_json(tokenisation: Tokenisation, vocabulary: Vocabulary) -> str:
    from tokenizers import AddedToken, Regex
    from tokenizers import Tokenizer as HuggingFaceTokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import NFC, Lowercase, Normalizer, Replace, Sequence
    from tokenizers.pre_tokenizers import Split

    words = {word: number for number, word in enumerate(vocabulary.words)}
    tokenizer = HuggingFaceTokenizer(WordLevel(words, unk_token=UNK))
    steps: list[Normalizer] = []
    if tokenisation.sentences:
        steps.append(Replace("\n", f" {EOS} "))
    if tokenisation.composed:
        steps.append(NFC())
    steps += [Replace(Regex(pattern), new) for pattern, new in tokenisation.replaced or ()]
    if tokenisation.lowercase:
        steps.append(Lowercase())
    tokenizer.normalizer = Sequence(steps)
    tokenizer.pre_tokenizer = Split(Regex(tokenisation.pattern), behavior="removed", invert=True)
    tokenizer.add_special_tokens([AddedToken(word, normalized=False, special=True) for word in (UNK, EOS)])
    return tokenizer.to_str()


def _tokenisation(content: dict[str, Any]) -> Tokenisation:
    steps = content["normalizer"]["normalizers"]
    kinds = {step["type"] for step in steps}
    pattern = content["pre_tokenizer"]["pattern"]["Regex"]
    return Tokenisation(
        kind="space" if pattern == SPACE_PATTERN else "words",
        lowercase="Lowercase" in kinds,
        sentences=any(step.get("pattern") == {"String": "\n"} for step in steps),
        pattern=pattern,
        composed="NFC" in kinds,
        replaced=tuple(
            (step["pattern"]["Regex"], step["content"])
            for step in steps
            if step["type"] == "Replace" and "Regex" in step["pattern"]
        ),
    )


def _vocabulary(content: dict[str, Any]) -> Vocabulary:
    numbers: dict[str, int] = content["model"]["vocab"]
    if sorted(numbers.values()) != list(range(len(numbers))):
        raise ValueError("its ids are not 0 to V - 1")
    return Vocabulary(sorted(numbers, key=numbers.__getitem__))
