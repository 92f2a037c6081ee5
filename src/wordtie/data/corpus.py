"""Find a text and read its splits.

A corpus is a folder with train, valid and test, one file that is split here, or a name from the catalogue. The
rules of reading, which the published token counts confirm (Penn Treebank: 929,589 / 73,760 / 82,430 tokens,
WikiText-2: 2,088,628 / 217,646 / 245,569):

- one line is one sentence, and each line end is an `<eos>`, that of a blank line too;
- as running text, line ends are white space, and one `<eos>` closes each document: the file, or the line where the
  catalogue says that each line is a document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from wordtie.config import DataSettings
from wordtie.config.paths import path_of
from wordtie.data.catalogue import CATALOGUE, locate
from wordtie.data.reading import (
    BLOCK,
    LONGEST_LINE,
    SHORTER_LINES,
    Readable,
    Source,
    WordSpan,
    byte_blocks,
    decoded,
    opened,
    refuse_old_mac,
    size_when_opened,
    skip,
)
from wordtie.data.tokenisation import Kind, looks_like
from wordtie.errors import DataError

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Corpus:
    """A corpus: where the text of each split is, and how it is tokenised."""

    name: str
    splits: Mapping[str, Sequence[Source]]
    tokenisation: Kind


class SplitReader:
    r"""The text of a split as blocks of whole lines, each line end in them one `<eos>`; to be iterated once.

    Running text, and a source whose lines may be of any length, is in blocks of whole words.

    Raises `DataError` if a file is missing, unreadable, or has no words.
    """

    def __init__(self, sources: Sequence[Source], sentences: bool, hint: str = SHORTER_LINES) -> None:
        self.sources = sources
        self.hint = hint
        """Advice for the error message on a line that is too long."""
        self.sentences = sentences
        self.bytes = 0
        """Bytes read so far, after decompression."""
        self._hash = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes read so far: for a whole plain file, what `sha256sum` prints."""
        return self._hash.hexdigest()

    def total_bytes(self) -> int:
        """Return the number of bytes to read; 0 if it is not known."""
        if any(each.handle or each.chosen or (each.is_compressed and not each.span) for each in self.sources):
            return 0
        try:
            spans = [source.span or (0, source.path.stat().st_size) for source in self.sources]
        except OSError:  # reported when it is read
            return 0
        return sum(end - start for start, end in spans)

    def __iter__(self) -> Iterator[str]:
        for source in self.sources:
            empty = True
            for block in self._blocks(source):
                empty = empty and not block.strip()
                yield block
            if empty:
                if source.span and self.bytes:
                    raise DataError(
                        f"{source.path}: one of the parts it is split into has blank lines alone; take out those in a "
                        "row, or give a folder with train.txt, valid.txt and test.txt"
                    )
                raise DataError(f"{source.path}: has no words in it; give a file with text")

    def _blocks(self, source: Source) -> Iterator[str]:
        running = not (self.sentences or source.documents)
        with opened(source) as file:
            # A text that grows while it is read is read as far as it went: a log file would never end.
            start, end = source.span or (0, size_when_opened(source, file))
            handle: Readable = file
            if source.whole_words and end is not None:
                words = WordSpan(file, start, end)
                handle, line, length = words, 1 + words.lines, None
            else:
                line, length = 1 + skip(file, start), None if end is None else end - start
            name = str(source.path)
            ends, begins, at_spaces = False, not start, running or source.whole_words
            for first, data in byte_blocks(handle, name, length=length, line=line, at_spaces=at_spaces, hint=self.hint):
                data = _chosen(data, first - 1, source)
                self.bytes += len(data)
                self._hash.update(data)
                text = self._cleaned(decoded(data, name, first, begins), source)
                begins = False
                ends = text.endswith("\n") if text else ends
                yield text.replace("\n", " ") if running else text
            if running or not ends:
                yield "\n"

    def _cleaned(self, text: str, source: Source) -> str:
        if source.clean is None:
            return text
        lines = [source.clean(line) for line in text.split("\n")]
        if source.documents and not self.sentences:
            lines = [line.replace("\n", " ") for line in lines]
        return "".join(f"{line}\n" for line in lines if line)


def _chosen(data: bytes, before: int, source: Source) -> bytes:
    if source.chosen is None:
        return data
    lines = data.removesuffix(b"\n").split(b"\n")
    return b"".join(line + b"\n" for number, line in enumerate(lines, before) if source.chosen(number, line))


def find_corpus(settings: DataSettings, download: bool = False) -> Corpus:
    """Find the text that the settings name. A missing catalogue text is downloaded only if `download`.

    Raises `DataError` for a name, folder or file that is not there, or a folder without one of its splits.
    """
    name, path = settings.corpus, path_of(settings.corpus)
    if name in CATALOGUE:
        splits = locate(name, download)
        stated: Kind | None = CATALOGUE[name].tokenisation
    elif path.is_dir():
        splits, stated = _folder(path), None
    elif path.is_file():
        splits, stated = _one_file(path, settings), None
    elif path.exists() or name == "-":
        raise DataError(f"{name}: a text to train on is read more than once, which a pipe cannot: save it to a file")
    else:
        known = ", ".join(CATALOGUE)
        raise DataError(f"{name}: no such file or folder, nor a corpus that `wordtie corpora` lists ({known})")
    if settings.tokenisation != "auto":
        stated = settings.tokenisation
    return Corpus(name, splits, stated or _guess(splits["train"][0]))


def _folder(folder: Path) -> dict[str, list[Source]]:
    splits = {}
    for split in SPLITS:
        paths = folder / f"{split}.txt", folder / f"{split}.txt.gz"
        for path in paths:
            if path.is_symlink() and not path.exists():
                raise DataError(f"{path}: is a link to a file that is not there")
        there = [path for path in paths if path.is_file()]
        if len(there) > 1:
            raise DataError(f"{folder}: has {split}.txt and {split}.txt.gz: remove one of them")
        if not there:
            raise DataError(
                f"{folder}: has no {split}.txt; give a folder with train.txt, valid.txt and test.txt, "
                "or one text file, which is then split"
            )
        splits[split] = [Source(there[0])]
    return splits


def _one_file(path: Path, settings: DataSettings) -> dict[str, list[Source]]:
    """Split a file into contiguous shares of its bytes, cut at line ends, or at white space for running text."""
    before = path.stat()
    with opened(Source(path)) as handle:
        size = 0
        while data := handle.read(BLOCK):
            if not size:  # before it is cut where it has no line ends
                refuse_old_mac(data, str(path))
            size += len(data)
        cuts = [0]
        for share in (settings.split[0], settings.split[0] + settings.split[1]):
            handle.seek(int(size * share))
            cuts.append(handle.tell() + _to_next_cut(handle.read(LONGEST_LINE), settings.sentences))
    cuts.append(size)
    after = path.stat()
    if (before.st_ino, before.st_size, before.st_mtime_ns) != (after.st_ino, after.st_size, after.st_mtime_ns):
        raise DataError(f"{path}: was changed while it was read: try again")
    spans = dict(zip(SPLITS, pairwise(cuts), strict=True))
    if size and any(start >= end for start, end in spans.values()):
        with opened(Source(path)) as handle:
            beginning = handle.read(BLOCK)
        if size <= BLOCK and not decoded(beginning, str(path), 1, begins=True).strip():
            raise DataError(f"{path}: has no words in it; give a file with text")
        raise DataError(
            f"{path}: has too few {'lines' if settings.sentences else 'words'} to split into train, valid and test; "
            "give a longer text, or a folder with train.txt, valid.txt and test.txt"
            + (", or set data.sentences to false" if settings.sentences else "")
        )
    return {split: [Source(path, span=span)] for split, span in spans.items()}


def _to_next_cut(data: bytes, sentences: bool) -> int:
    places = [data.find(mark) + 1 for mark in ((b"\n",) if sentences else (b"\n", b" ", b"\t"))]
    return min((place for place in places if place), default=len(data))


def _guess(source: Source) -> Kind:
    with opened(source) as handle:
        return looks_like(handle.read(BLOCK // 8).decode("utf-8", errors="ignore"))
