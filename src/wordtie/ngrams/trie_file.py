"""An n-gram model as one file: safetensors, whose arrays are mapped into memory and read when they are used.

Any reader of safetensors opens it. The arrays are those of `wordtie.ngrams.trie`, named `unigram` and, for each order
from 2, `2.group_C`, `2.word_G` and so on.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import save_file

from wordtie.ngrams.trie import BLOCK, Codes, Level, NgramTrie
from wordtie.storage import strict_json
from wordtie.storage.atomic import apply_umask, mapped

DTYPES = {"U8": np.uint8, "U16": np.uint16, "U32": np.uint32, "U64": np.uint64, "F64": np.float64}
ROUNDING = 1e-3
"""Largest difference from 1 of the sum of the words' probabilities."""
ROWS_AT_ONCE = 1 << 20
"""Rows that are checked at once; a multiple of `BLOCK`."""
NAMES = tuple(field.name for field in fields(Level))


def write_trie(trie: NgramTrie, path: Path) -> None:
    """Write the file, the same bytes for the same model.

    Raises `OSError`, also for the errors that safetensors raises on a full disk.
    """
    arrays = {"unigram": trie.unigram}
    for order, level in enumerate(trie.levels, start=2):
        arrays |= {f"{order}.{name}": np.ascontiguousarray(getattr(level, name)) for name in NAMES}
    about = {"format": "wordtie n-grams", "order": str(trie.order), "eos_id": json.dumps(trie.eos_id)}
    try:
        save_file(arrays, path, about)
        _sort_header(path)
        apply_umask(path)
    except SafetensorError as error:
        raise OSError(str(error)) from error


def _sort_header(path: Path) -> None:
    """Bring the header's keys, which safetensors writes in any order, into one: equal models are equal files."""
    with path.open("r+b") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
        ordered = json.dumps(header, separators=(",", ":")).encode().ljust(size)
        assert len(ordered) == size, "the same keys and values, and the spaces that follow them"
        file.seek(8)
        file.write(ordered)


def trie_from_bytes(content: bytes | mmap.mmap) -> NgramTrie:
    """Return the model in a file's content, which it keeps and does not copy.

    Raises `ValueError`, `KeyError`, `TypeError` or `IndexError` for any other content.
    """
    arrays, about = _arrays(content)
    levels = tuple(
        Level(**{name: arrays[f"{order}.{name}"] for name in NAMES}) for order in range(2, int(about["order"]) + 1)
    )
    trie = NgramTrie(arrays["unigram"], levels, strict_json.parse(about["eos_id"]))
    check_numbers(trie)
    return trie


def check_numbers(trie: NgramTrie) -> None:
    """Raise `ValueError` for numbers that give no probabilities, and for codes that point at nothing."""
    shares = [trie.unigram, *(level.backoff for level in trie.levels), *(level.total for level in trie.levels)]
    if not all(np.isfinite(each).all() for each in (*shares, *(level.kept for level in trie.levels))):
        raise ValueError("has numbers that are not finite")
    counted = all(level.total[level.children > 0].all() for level in trie.levels)
    if not counted or not all((each >= 0).all() for each in shares):
        raise ValueError("has weights below zero, or contexts without a count")
    if abs(trie.unigram.sum() - 1) > ROUNDING:
        raise ValueError(f"has words whose probabilities sum to {trie.unigram.sum():.3g}, not to 1")
    for order, level in enumerate(trie.levels, start=2):
        _check_codes(level, order, len(trie.unigram))


def _check_codes(level: Level, order: int, words: int) -> None:
    """Raise `ValueError` unless the groups, the counts, the words and the rows that codes name are there."""
    contexts, rows = len(level.group_C), len(level.word_G)
    if _largest(level.group_C) >= len(level.children) or _largest(level.count_G) >= len(level.kept):
        raise ValueError(f"has {order}-grams with codes of groups or counts that are not there")
    before, first_children = 0, []
    for piece in _pieces(contexts):  # of whole blocks
        end_N = before + np.cumsum(level.children[level.group_C[piece]], dtype=np.int64)
        first_children += [np.concatenate([[before], end_N[BLOCK - 1 : -1 : BLOCK]])]
        before = int(end_N[-1])
    same = np.array_equal(level.first_child, np.concatenate([[], *first_children]))
    if not same or {before, len(level.count_G)} != {rows} or len(level.high_G) not in (0, rows):
        raise ValueError(f"has {order}-grams that are not as many as their contexts say")
    highest = _largest(level.word_G) if not len(level.high_G) else 0xFFFF | _largest(level.high_G) << 16
    if highest >= words and any(level.words(np.r_[piece]).max() >= words for piece in _pieces(rows)):
        raise ValueError(f"has {order}-grams of words that are not in the vocabulary")


def _largest(codes: Codes) -> int:
    return int(codes.max()) if len(codes) else -1


def _pieces(rows: int) -> Iterator[slice]:
    return (slice(first, min(first + ROWS_AT_ONCE, rows)) for first in range(0, rows, ROWS_AT_ONCE))


def open_trie(path: Path) -> NgramTrie:
    """Open the model in a file, mapped into memory. Raises `OSError`, and the errors of `trie_from_bytes`."""
    with path.open("rb") as file:
        return trie_from_bytes(mapped(file))


def _arrays(content: bytes | mmap.mmap) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Return every array of a safetensors file, by name, and the file's metadata."""
    size = int.from_bytes(content[:8], "little")
    header = strict_json.read(bytes(content[8 : 8 + size]), dict[str, Any])
    about = header.pop("__metadata__", {})
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = np.dtype(DTYPES[entry["dtype"]])
        arrays[name] = np.ndarray((end - begin) // dtype.itemsize, dtype, content, 8 + size + begin)
    return arrays, about
