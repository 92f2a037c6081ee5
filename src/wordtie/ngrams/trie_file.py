"""An n-gram model as one file: safetensors, whose arrays are mapped into memory and read when they are used.

Any reader of safetensors opens it. The arrays are those of `wordtie.ngrams.trie`, named `unigram` and, for each order
from 2, `2.group_C`, `2.word_G` and so on.
"""

from __future__ import annotations

import json
import mmap
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import save_file

from wordtie.ngrams.trie import Level, NgramTrie
from wordtie.storage import strict_json
from wordtie.storage.atomic import apply_umask, mapped

DTYPES = {"U8": np.uint8, "U16": np.uint16, "U32": np.uint32, "U64": np.uint64, "F64": np.float64}
NAMES = tuple(field.name for field in fields(Level))


def write_trie(trie: NgramTrie, path: Path) -> None:
    """Write the file. Raises `OSError`, also for the errors that safetensors raises on a full disk."""
    arrays = {"unigram": trie.unigram}
    for order, level in enumerate(trie.levels, start=2):
        arrays |= {f"{order}.{name}": np.ascontiguousarray(getattr(level, name)) for name in NAMES}
    about = {"format": "wordtie n-grams", "order": str(trie.order), "eos_id": json.dumps(trie.eos_id)}
    try:
        save_file(arrays, path, about)
        apply_umask(path)
    except SafetensorError as error:
        raise OSError(str(error)) from error


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
    """Raise `ValueError` for numbers that give no probabilities: those of words, and of groups of contexts."""
    shares = [trie.unigram, *(level.backoff for level in trie.levels), *(level.total for level in trie.levels)]
    if not all(np.isfinite(each).all() for each in (*shares, *(level.kept for level in trie.levels))):
        raise ValueError("has numbers that are not finite")
    counted = all(level.total[level.children > 0].all() for level in trie.levels)
    if not counted or not all((each >= 0).all() for each in shares):
        raise ValueError("has weights below zero, or contexts without a count")


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
