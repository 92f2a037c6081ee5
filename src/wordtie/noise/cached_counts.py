"""Counts of the training text, worked out once and kept beside its token file.

`train.counts.npz` holds the three rows of `NeighbourCounts` and the SHA-256 of the `data.json` that the ids were
written with; where that has changed, or the file cannot be read, the counts are taken anew. A folder that
cannot be written to costs only the time.
"""

from __future__ import annotations

import hashlib
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from wordtie.errors import SaveError
from wordtie.noise.ngram_counts import NeighbourCounts, neighbour_counts
from wordtie.text.batches import Ids
from wordtie.text.files import written_anew

COUNTS, INFO = "train.counts.npz", "data.json"


def training_counts(ids_N: Ids, vocabulary_size: int) -> NeighbourCounts:
    """`neighbour_counts` of the ids; from the cache where they are all of a prepared folder's and it has them."""
    found = _prepared_folder(ids_N)
    if found is None:
        return neighbour_counts(ids_N, vocabulary_size)
    folder, made_from = found
    try:
        with (folder / COUNTS).open("rb") as file, np.load(file, allow_pickle=False) as kept:
            if str(kept["made_from"]) == made_from and kept["counts"].shape == (3, vocabulary_size):
                return NeighbourCounts(*kept["counts"])
    except (OSError, ValueError, KeyError, EOFError, NotImplementedError, zipfile.BadZipFile):
        pass
    counts = neighbour_counts(ids_N, vocabulary_size)
    _save(folder, counts, made_from)
    return counts


def _prepared_folder(ids_N: Ids) -> tuple[Path, str] | None:
    """The prepared folder whose training text the ids are, from the first to the last, and what it was made from.

    None where the folder has another text by now, since someone wrote on in the file and read it anew.
    """
    if not isinstance(ids_N, np.memmap) or ids_N.filename is None or Path(ids_N.filename).stem != "train":
        return None
    path = Path(ids_N.filename)
    try:
        made_from = hashlib.sha256((path.parent / INFO).read_bytes()).hexdigest()
        there = np.memmap(path, ids_N.dtype, "r", ids_N.offset)
    except (OSError, ValueError):
        return None
    return (path.parent, made_from) if np.array_equal(there, ids_N) else None


def _save(folder: Path, counts: NeighbourCounts, made_from: str) -> None:
    rows = np.stack([counts.count, counts.distinct_left, counts.distinct_right])
    with suppress(SaveError), written_anew(folder / COUNTS) as new:
        np.savez(new, counts=rows, made_from=np.array(made_from))
