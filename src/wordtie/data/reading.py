"""Read text files block by block, in constant memory, and say which line cannot be read.

A block is a string of whole lines of about a megabyte: large enough that splitting it costs no more than the words
in it. What is accepted: UTF-8, with or without a byte-order mark, Unix or Windows line ends, plain, `.gz`, or alone in
a `.zip`. What is refused with the file, the line and the fix: other encodings, NUL bytes, old Mac line ends, and lines
too long to hold.
"""

from __future__ import annotations

import gzip
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol, cast

from wordtie.errors import DataError

BLOCK = 1 << 20
"""Bytes read at a time."""
PIECE = 1 << 16
"""Characters of a block that are split into words at a time, so that the words of a block need not be in memory."""
LONGEST_LINE = 10_000_000
"""Most bytes in a line; longer ones are refused, since a line is held in memory whole."""

UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""First bytes of a text in UTF-16, in either byte order."""
NOT_UTF8 = "not UTF-8; convert it with `iconv -f windows-1252 -t utf-8` (or whatever it is in)"
SHORTER_LINES = "put one sentence on a line, or set data.sentences to false"
"""Advice for the error message on a line that is too long, in a text to train on."""


@dataclass(frozen=True)
class Source:
    """A file, or a part of it, and what to do with its lines."""

    path: Path
    handle: BinaryIO | None = None
    """The open file, if there is no path to open (stdin); `path` is then its name in messages."""
    span: tuple[int, int] | None = None
    """First byte, and the byte after the last one, of the text after decompression."""
    chosen: Callable[[int, bytes], bool] | None = None
    """Function from the number of a line, from 0, and its content to whether the line is taken."""
    clean: Callable[[str], str] | None = None
    """Function from a line to the text in it, which may be several lines; blank ones are then left out."""
    documents: bool = False
    """Whether each line is a document, rather than the whole file."""
    whole_words: bool = False
    """Whether a line may be of any length, and each end of the span moves forward to the beginning of a word."""

    @property
    def is_compressed(self) -> bool:
        """Whether the size of the file differs from that of its text."""
        return self.path.suffix in (".gz", ".zip")


def size_when_opened(source: Source, file: BinaryIO) -> int | None:
    """Return the bytes of a plain file just opened; None if they are unknown, as for pipes and files under /proc."""
    if source.handle is not None or source.is_compressed:
        return None
    status = os.fstat(file.fileno())
    return status.st_size or None if stat.S_ISREG(status.st_mode) else None


@contextmanager
def opened(source: Source) -> Iterator[BinaryIO]:
    """Open a plain, `.gz` or `.zip` file for its bytes; errors while it is open become a `DataError` that names it."""
    path = source.path
    if source.handle is not None:
        try:
            yield source.handle
        except OSError as error:  # open for writing only, say
            raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
        return
    try:
        with _OPEN.get(path.suffix, _plain)(path) as handle:
            yield cast(BinaryIO, handle)
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file; check the path") from error
    except (gzip.BadGzipFile, zipfile.BadZipFile, EOFError, zlib.error) as error:
        kind = "zip" if path.suffix == ".zip" else "gzip"
        raise DataError(f"{path}: a damaged {kind} file ({error}): fetch it again") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def _plain(path: Path) -> IO[bytes]:
    return path.open("rb")


@contextmanager
def _zipped(path: Path) -> Iterator[IO[bytes]]:
    """Open the only file of an archive. Raises `DataError` if there is not exactly one, or it cannot be unpacked."""
    with zipfile.ZipFile(path) as archive:
        names = [each.filename for each in archive.infolist() if not each.is_dir()]
        if len(names) != 1:
            raise DataError(f"{path}: has {len(names)} files in it, not one text: unpack it, and give a file's path")
        try:
            handle = archive.open(names[0])
        except RuntimeError as error:  # a password, or a method of compression that Python lacks
            raise DataError(f"{path}: cannot be unpacked ({error}): unpack it with the program that made it") from error
        with handle:
            yield handle


_OPEN: dict[str, Callable[[Path], AbstractContextManager[Any]]] = {".gz": gzip.open, ".zip": _zipped}
"""Functions that open a file, by the ending of its name."""


def refuse_old_mac(beginning: bytes, name: str) -> None:
    r"""Raise `DataError` for a text whose lines end in `\r` alone, which would be read as one line."""
    if b"\r" in beginning.rstrip() and b"\n" not in beginning.rstrip() and b"\0" not in beginning:
        raise DataError(rf"{name}: has old Mac line ends: convert it with `tr '\r' '\n'`")


def skip(handle: BinaryIO, count: int) -> int:
    """Read past `count` bytes, and return the number of line ends among them."""
    lines = 0
    while count > 0 and (data := handle.read(min(BLOCK, count))):
        lines += data.count(b"\n")
        count -= len(data)
    return lines


class Readable(Protocol):
    """A source of bytes."""

    def read(self, count: int, /) -> bytes:
        """Read at most `count` bytes; none at the end."""


class WordSpan:
    """The words of an open file that begin within a span of its bytes.

    A cut at byte N moves forward to the place after the first white space from byte N - 1 on, so that the spans on both
    sides of it agree.
    """

    def __init__(self, handle: BinaryIO, start: int, end: int) -> None:
        self.handle = handle
        self.lines = skip(handle, start - 1)
        """Line ends before the span."""
        before = self._rest_of_word() if start else b""
        self.lines += before.count(b"\n")
        self._left = end - 1 - max(start - 1, 0) - len(before)
        self._over = self._left < 0

    def read(self, count: int, /) -> bytes:
        """Read at most `count` bytes; at the end, the rest of a word, however long."""
        if self._over:
            return b""
        if data := self.handle.read(min(count, self._left)):
            self._left -= len(data)
            return data
        self._over = True
        return self._rest_of_word()

    def _rest_of_word(self) -> bytes:
        """Read the rest of a word and the white space after it."""
        data = b""
        while byte := self.handle.read(1):
            data += byte
            if byte.isspace():
                break
        return data


def byte_blocks(
    handle: Readable,
    name: str,
    *,
    length: int | None = None,
    line: int = 1,
    at_spaces: bool = False,
    longest: int = LONGEST_LINE,
    hint: str,
) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of whole lines, each with the number of its first line; at most `length` bytes in all.

    With `at_spaces`, as in running text, blocks may also end at a blank or a tab, so that a line may be of any length.
    `hint` is the advice for the error message on a line that is too long.
    Raises `DataError` for a line (or a word) of more than `longest` bytes, and for old Mac line ends.
    """
    rest, begins = b"", line == 1
    while data := handle.read(BLOCK if length is None else min(BLOCK, length)):
        length = None if length is None else length - len(data)
        if begins:
            refuse_old_mac(data, name)
        begins = False
        end = data.rfind(b"\n") + 1 or (max(data.rfind(b" "), data.rfind(b"\t")) + 1 if at_spaces else 0)
        head = data[:end] if end else data
        if len(rest) + (head.find(b"\n") + 1 or len(head)) > longest and not (end and at_spaces):
            what = "is one word of more than" if at_spaces else "is longer than"
            advice = "is it text?" if at_spaces else hint
            raise DataError(f"{name}, line {line}: {what} {longest // 1_000_000} MB: {advice}")
        if end:
            block = rest + head
            yield line, block
            line += block.count(b"\n")
            rest = data[end:]
        else:
            rest += data
    if rest:
        yield line, rest


def decoded(data: bytes, name: str, line: int, begins: bool) -> str:
    r"""Decode a block, with `\n` for each line end, and without a byte-order mark if the block `begins` a file.

    Raises a `DataError` that names the line that is not UTF-8 text.
    """
    if begins and data.startswith(UTF_16):
        raise DataError(f"{name}, line 1: UTF-16; convert it with `iconv -f utf-16 -t utf-8`")
    where = data.find(b"\0")
    if where >= 0:
        number = line + data.count(b"\n", 0, where)
        raise DataError(f"{name}, line {number}: a NUL byte: is it a binary file? Give UTF-8 text")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        number = line + data.count(b"\n", 0, error.start)
        raise DataError(f"{name}, line {number}: {NOT_UTF8}") from error
    if begins:
        text = text.removeprefix("\ufeff")
    return text.replace("\r\n", "\n")


def pieces(text: str) -> Iterator[str]:
    """Yield the text in pieces of about `PIECE` characters, cut before a blank so that words stay whole.

    The words of a text, as a list, take many times the memory of the text.
    """
    first = 0
    while first < len(text):
        blank = text.find(" ", first + PIECE)
        end = len(text) if blank < 0 else blank
        yield text[first:end]
        first = end
