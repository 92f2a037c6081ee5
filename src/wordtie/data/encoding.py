"""Turn blocks of text into ids, and count what every perplexity is printed with."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from wordtie.config.paths import path_of
from wordtie.data.corpus import SplitReader
from wordtie.data.reading import Source, pieces
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import UNK
from wordtie.errors import DataError, require

Ids: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True)
class TextStats:
    """Counts of a text, and its SHA-256."""

    tokens: int
    """Number of tokens that a perplexity is over, `<eos>` included."""
    oov: int
    """Words outside the vocabulary, which became `<unk>`."""
    unk: int
    """Occurrences of `<unk>` in the text itself, which are not counted in `oov`."""
    eos: int
    """Number of `<eos>`: one per line, or one per document of running text."""
    bytes: int
    """Bytes of the text, decompressed."""
    sha256: str
    """SHA-256 of those bytes: for a whole plain file, what `sha256sum` prints."""


class WordNumbers:
    """Numbers words in order of first occurrence, while a text is read whose vocabulary is not chosen yet."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict()
        self._numbers.default_factory = self._numbers.__len__

    def __len__(self) -> int:
        return len(self._numbers)

    def __call__(self, words: list[str]) -> Ids:
        """Return the words' numbers, (N,); new words get the next ones."""
        return np.fromiter(map(self._numbers.__getitem__, words), np.int32, len(words))

    @property
    def words(self) -> list[str]:
        """The words in the order of their numbers."""
        return list(self._numbers)


class EncodedText:
    """Ids of one text, piece by piece, to be iterated once; its counts are complete at the end.

    The source is a file (`.gz` too) or an open one, such as stdin; it is read as the tokenizer's training text was.
    """

    def __init__(self, source: str | Path | IO[Any], tokenizer: Tokenizer) -> None:
        self._reader = SplitReader([_as_source(source)], tokenizer.sentences, "cut it into shorter lines")
        self._tokenizer = tokenizer
        self._counts: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Ids]:
        """Yield the ids piece by piece. Raises `DataError` for a text that is missing, empty or unreadable."""
        for block in self._reader:
            yield from map(self._encoded, pieces(block))

    def _encoded(self, text: str) -> Ids:
        words = self._tokenizer.tokenisation.tokens(text)
        vocabulary = self._tokenizer.vocabulary
        ids = vocabulary.encode(words)
        unk = words.count(UNK)
        self._counts.update(
            tokens=len(ids),
            unk=unk,
            oov=int(np.count_nonzero(ids == vocabulary.unk_id)) - unk,
            eos=int(np.count_nonzero(ids == vocabulary.eos_id)),
        )
        return ids

    @property
    def total_bytes(self) -> int:
        """Number of bytes to read; 0 if it is not known."""
        return self._reader.total_bytes()

    @property
    def stats(self) -> TextStats:
        """Counts of what has been read so far."""
        counts = {name: self._counts[name] for name in ("tokens", "oov", "unk", "eos")}
        return TextStats(**counts, bytes=self._reader.bytes, sha256=self._reader.sha256)


def encode_file(source: str | Path | IO[Any], tokenizer: Tokenizer) -> tuple[Ids, TextStats]:
    """Return the ids of one text, (N,), and its counts; it is read in blocks, so that only the ids are held in memory.

    Raises `DataError` as `EncodedText` does.
    """
    text = EncodedText(source, tokenizer)
    return np.concatenate([*text]), text.stats


def _as_source(source: str | Path | IO[Any]) -> Source:
    if isinstance(source, (str, Path)):
        return Source(path_of(source))
    name = Path(str(getattr(source, "name", "text")))
    require(hasattr(source, "read"), f"give the path of a file or an open one, not a {type(source).__name__}")
    return Source(name, handle=cast(BinaryIO, _Utf8(source, name)))


class _Utf8:
    """The UTF-8 bytes of a text that the caller has opened, maybe in another encoding, from its current position."""

    def __init__(self, text: IO[Any], name: Path) -> None:
        self.text = text
        self.name = name

    def read(self, count: int) -> bytes:
        """Read `count` bytes, or those of `count` characters. Raises `DataError` for text not in its encoding."""
        try:
            data: bytes | str = self.text.read(count)
            return data.encode() if isinstance(data, str) else data
        except UnicodeError as error:
            raise DataError(f"{self.name}: {error}: open it in the encoding that it is in") from error
