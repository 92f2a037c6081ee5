"""Word vectors in files: word2vec's text and binary formats, and NumPy's.

The first two open with a line `V E`; then comes for each word its name, a blank, and E numbers: in decimal, or as
little-endian float32. gensim's `KeyedVectors.load_word2vec_format` and word2vec itself read and write them. Counts,
where they are known, go into `NAME.vocab` (`word count` a line), which gensim takes as `fvocab`. An .npy file holds
the matrix alone; its words are in the `NAME.vocab` beside it. The first two are read from a `.gz` file, too.
"""

from __future__ import annotations

import codecs
import re
import tempfile
import tokenize
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np

from wordtie.config.paths import path_of
from wordtie.data.reading import Source, decoded, opened
from wordtie.errors import DataError, SaveError
from wordtie.storage.atomic import replace_files, saving
from wordtie.vectors.word_vectors import Floats, WordVectors

Format = Literal["text", "binary", "npy"]
LONGEST_WORD = 10_000
"""Maximum bytes of a word; a file without a blank for longer is not a binary vectors file."""
NO_NPY = (ValueError, TypeError, EOFError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile)
"""Errors that `numpy.load` raises for a file that is not an array."""
CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
MOST_UNPACKED = 1032
"""Maximum bytes that one byte of a `.gz` file unpacks to."""


def write_vectors(vectors: WordVectors, path: str | Path, form: Format) -> list[Path]:
    """Write the file, and `NAME.vocab` if counts are known or the format has no words; return the files written.

    Raises `SaveError`, and then leaves earlier files as they were; also if no counts are known, but counts of other
    vectors lie beside the file and would be read as its own. Raises `DataError` for a word that the format
    cannot hold.
    """
    path = path_of(path)
    ends, what = ("\n", "a line end ends it") if form == "npy" else (" \n", "a blank ends it: write .npy, or rename it")
    bad = next((word for word in vectors.words if not word or not set(ends).isdisjoint(word)), None)
    if bad is not None:
        raise DataError(f"{vectors.name}: the word {bad!r} cannot be written as {form}, where {what}")
    if not path.name:
        raise SaveError(f"{path}: is a folder: name a file in it")
    names = [f"{path.name}.vocab", path.name] if vectors.counts is not None or form == "npy" else [path.name]
    if len(names) == 1 and (beside := path.with_name(f"{path.name}.vocab")).exists():
        raise SaveError(
            f"{beside}: holds counts of other vectors, which would be read as these: remove it, or write elsewhere"
        )
    with saving(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as name:
            stage = Path(name)
            with (stage / path.name).open("wb") as file:
                if form == "npy":
                    np.save(file, vectors.matrix_VE)
                else:
                    file.write(f"{len(vectors.words)} {vectors.matrix_VE.shape[1]}\n".encode())
                    file.writelines(_rows(vectors, form))
            if len(names) > 1:
                counts = vectors.counts or [0] * len(vectors.words)
                lines = (f"{word} {count}\n" for word, count in zip(vectors.words, counts, strict=True))
                (stage / names[0]).write_text("".join(lines), encoding="utf-8")
            replace_files(stage, path.parent, names)
    return [path.parent / each for each in reversed(names)]


def _rows(vectors: WordVectors, form: Format) -> Iterator[bytes]:
    for word, row_E in zip(vectors.words, vectors.matrix_VE, strict=True):
        if form == "binary":
            yield f"{word} ".encode() + row_E.astype("<f4").tobytes() + b"\n"
        else:
            yield f"{word} {' '.join(f'{number:.9g}' for number in row_E.tolist())}\n".encode()


def read_vectors(path: str | Path) -> WordVectors:
    """Open a file of any of the three formats.

    Raises `DataError` for one that is missing, has a wrong header, ragged rows, a duplicate word, or NaN.
    """
    path = path_of(path)
    try:
        if path.suffix == ".npy":
            return _read_npy(path)
        with opened(Source(path)) as file:
            words, size = _header(path, file.readline().removeprefix(codecs.BOM_UTF8))
            _check_size(path, words, size)
            start = file.tell()
            beginning = file.read(LONGEST_WORD + 40 * size)
            file.seek(start)
            read = _read_text if _is_text(beginning, size) else _read_binary
            names, matrix_VE = read(path, file, words, size)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    return WordVectors(names, matrix_VE, _counts(path, names), str(path))


def _header(path: Path, line: bytes) -> tuple[int, int]:
    try:
        words, size = (int(part) for part in line.split())
        if words < 1 or size < 1:
            raise ValueError
    except ValueError as error:
        raise DataError(
            f"{path}, line 1: must be the number of words and the vector size, as in `10000 300`; "
            f"it is {line[:40].decode(errors='replace').strip()!r}"
        ) from error
    return words, size


def _is_text(beginning: bytes, size: int) -> bool:
    """Whether the first row is in decimal, valid or not: what follows its word is printable up to the end of the line,
    and over the length of a binary row, since a line end may be a byte of a binary number.
    """
    _, _, rest = beginning.partition(b" ")
    numbers = rest[: max(4 * size, rest.find(b"\n"))]
    try:
        codecs.getincrementaldecoder("utf-8")().decode(numbers)  # which may be cut within a letter
    except UnicodeDecodeError:
        return False
    return not CONTROLS.search(numbers)


def _read_text(path: Path, file: BinaryIO, words: int, size: int) -> tuple[list[str], Floats]:
    names: list[str] = []
    matrix_VE = np.empty((words, size), np.float32)
    for number, line in enumerate(file, 2):
        word, _, rest = line.decode("utf-8", "replace").rstrip().partition(" ")
        parts = rest.split()
        if len(names) == words and not word:
            continue  # blank lines at the end
        if len(names) == words:
            raise DataError(f"{path}, line {number}: more rows than the {words} that line 1 promises")
        try:
            row = [float(part) for part in parts]
        except ValueError as error:
            raise DataError(
                f"{path}, line {number}: {error}; a row is a word without blanks and numbers such as -0.5"
            ) from error
        if len(row) != size:
            raise DataError(f"{path}, line {number}: {len(row)} numbers, but line 1 promises {size}")
        with np.errstate(over="ignore"):  # 1e39 is infinite as float32, which is refused below
            matrix_VE[len(names)] = row
        if not np.isfinite(matrix_VE[len(names)]).all():
            raise DataError(f"{path}, line {number}: the vector of {word!r} has NaN or infinite numbers")
        names.append(word)
    if len(names) < words:
        raise DataError(f"{path}: {len(names)} rows, but line 1 promises {words}; is the file cut off?")
    return names, matrix_VE


def _read_binary(path: Path, file: BinaryIO, words: int, size: int) -> tuple[list[str], Floats]:
    names: list[str] = []
    matrix_VE = np.empty((words, size), np.float32)
    for row in range(words):
        name = bytearray()
        while (byte := file.read(1)) != b" ":
            if not byte or len(name) > LONGEST_WORD:
                raise DataError(
                    f"{path}: word {row + 1} of {words} is not there; is the file cut off or the header wrong?"
                )
            name += byte
        data = file.read(4 * size)
        if len(data) < 4 * size:
            raise DataError(f"{path}: the vector of word {row + 1} of {words} is cut off")
        matrix_VE[row] = np.frombuffer(data, "<f4")
        names.append(name.decode("utf-8", "replace").lstrip("\n"))
    if file.read().strip():
        raise DataError(f"{path}: has more than the {words} words of {size} numbers that its header announces")
    return names, matrix_VE


def _check_size(path: Path, words: int, size: int) -> None:
    most = path.stat().st_size * (MOST_UNPACKED if path.suffix == ".gz" else 1)
    if words * size > most:  # a number takes at least a byte and a blank
        raise DataError(f"{path}, line 1: promises {words} words of {size} numbers, more than the file can hold")


def _read_npy(path: Path) -> WordVectors:
    try:
        with path.open("rb") as file:  # which numpy leaves open where it is a broken archive
            matrix_VE = np.load(file, allow_pickle=False)
    except NO_NPY as error:
        raise DataError(f"{path}: not an .npy file of numbers; text and binary vectors need another ending") from error
    if not isinstance(matrix_VE, np.ndarray):
        raise DataError(f"{path}: an archive of arrays (.npz), not one matrix: save the matrix alone as .npy")
    if matrix_VE.ndim != 2 or matrix_VE.dtype.kind != "f":
        raise DataError(
            f"{path}: must be a matrix of floats, one row a word; it is {matrix_VE.shape} {matrix_VE.dtype}"
        )
    beside = path.with_name(f"{path.name}.vocab")
    names, counts = _vocab(beside)
    if len(names) != len(matrix_VE):
        raise DataError(f"{beside}: {len(names)} words for {len(matrix_VE)} rows of {path.name}")
    return WordVectors(names, matrix_VE.astype(np.float32), counts if any(counts) else None, str(path))


def _counts(path: Path, names: list[str]) -> list[int] | None:
    beside = path.with_name(f"{path.name}.vocab")
    if not beside.exists():
        return None
    found = dict(zip(*_vocab(beside), strict=True))
    return [found.get(name, 0) for name in names]


def _vocab(path: Path) -> tuple[list[str], list[int]]:
    names, counts = [], []
    try:
        lines = decoded(path.read_bytes(), str(path), 1, begins=True).removesuffix("\n").split("\n")
    except FileNotFoundError as error:
        raise DataError(f"{path}: missing; it holds the words of the matrix beside it, a line a row") from error
    for number, line in enumerate(lines, 1):
        word, _, count = line.rpartition(" ")
        if not word or not count.isdecimal():
            raise DataError(f"{path}, line {number}: must be a word, a blank and its count")
        names.append(word)
        counts.append(int(count))
    return names, counts
