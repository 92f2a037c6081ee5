"""Counts of the training text, worked out once and kept beside its token file.

`train.counts.npz` holds the three rows of `NeighbourCounts` and the SHA-256 of the `data.json` that the ids were
written with; where that has changed, or the file cannot be read, the counts are taken anew. A folder that
cannot be written to costs only the time.
"""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from wordtie.noise.ngram_counts import NeighbourCounts, neighbour_counts
from wordtie.text.batches import Ids
from wordtie.text.files import replace_file

COUNTS, INFO = "train.counts.npz", "data.json"


def training_counts(ids_N: Ids, vocabulary_size: int) -> NeighbourCounts:
    """`neighbour_counts` of the ids; from the cache where they are all of a prepared folder's and it has them."""
    folder = _folder_of(ids_N)
    if folder is None:
        return neighbour_counts(ids_N, vocabulary_size)
    made_from = hashlib.sha256((folder / INFO).read_bytes()).hexdigest()
    try:
        with (folder / COUNTS).open("rb") as file, np.load(file, allow_pickle=False) as found:
            if str(found["made_from"]) == made_from and found["counts"].shape == (3, vocabulary_size):
                return NeighbourCounts(*found["counts"])
    except (OSError, ValueError, KeyError, EOFError, NotImplementedError, zipfile.BadZipFile):
        pass
    counts = neighbour_counts(ids_N, vocabulary_size)
    _save(folder, counts, made_from)
    return counts


def _folder_of(ids_N: Ids) -> Path | None:
    """The prepared folder whose training text the ids are, from the first to the last."""
    if not isinstance(ids_N, np.memmap) or ids_N.filename is None:
        return None
    path = Path(ids_N.filename)
    whole = path.stem == "train" and ids_N.offset + ids_N.nbytes == path.stat().st_size
    return path.parent if whole and (path.parent / INFO).is_file() else None


def _save(folder: Path, counts: NeighbourCounts, made_from: str) -> None:
    """Beside its place, then renamed: there and whole, or not there."""
    rows = np.stack([counts.count, counts.distinct_left, counts.distinct_right])
    try:
        with tempfile.TemporaryDirectory(prefix=".counts-", dir=folder) as stage:
            np.savez(Path(stage) / COUNTS, counts=rows, made_from=np.array(made_from))
            replace_file(Path(stage) / COUNTS, folder / COUNTS)
    except OSError:
        return
