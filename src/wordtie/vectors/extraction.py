"""Take the word vectors out of a model, language model or word2vec.

An untied model has input vectors, which read words, and output vectors, which score them; press-wolf-2017 asks which
are better. A tied model has one set, which goes by any of the three names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from torch import Tensor

from wordtie.errors import DataError, RunFolderError
from wordtie.models.language_model import WORD_MATRICES
from wordtie.runs.contents import NewerFormatError, parse_kind
from wordtie.runs.layout import CONFIG
from wordtie.runs.ready import run_path
from wordtie.runs.run_folder import LANGUAGE_MODEL, WORD2VEC, read_language_model
from wordtie.storage.opening import read_regular
from wordtie.vectors.files import read_vectors
from wordtie.vectors.word_vectors import WordVectors
from wordtie.word2vec.reading import read_word2vec

Side = Literal["input", "output", "tied"]
WITH_VECTORS = (LANGUAGE_MODEL, "word2vec")
"""Kinds of models that have word vectors."""


def vectors_of(run: str | Path, side: Side | None = None) -> WordVectors:
    """Return the vectors of a run folder: those of `side` or, without it, the tied or the input ones.

    Words that were never trained (word2vec's `<unk>` and `<eos>`) are left out. Raises `RunFolderError` for a folder
    that is not a finished run, `DataError` for a side that the model does not have.
    """
    folder = run_path(run)
    return _side(folder, *_read(folder), side)


def sides(run: str | Path) -> dict[str, WordVectors]:
    """Return vectors by side: input and output vectors of an untied model, the one set of a tied one."""
    folder = run_path(run)
    tensors, words = _read(folder)
    both: tuple[Side, ...] = ("input", "output") if WORD_MATRICES[1] in tensors else ("tied",)
    return {side: _side(folder, tensors, words, side) for side in both}


def _read(run: Path) -> tuple[dict[str, Tensor], Sequence[str]]:
    """Return (tensors, words)."""
    if _kind(run) == WORD2VEC:
        tensors, tokenizer = read_word2vec(run)
        return tensors, tokenizer.vocabulary.words
    saved = read_language_model(run)
    return saved.tensors, saved.tokenizer.vocabulary.words


def _side(run: Path, tensors: Mapping[str, Tensor], words: Sequence[str], side: Side | None) -> WordVectors:
    source, target = WORD_MATRICES
    if side == "tied" and target in tensors:
        raise DataError(f"{run}: is not tied: take its side input or output")
    matrix_VE = tensors[target if side == "output" and target in tensors else source].float().numpy()
    name = f"{run}:{side or ('input' if target in tensors else 'tied')}"
    if "counts" not in tensors:
        return WordVectors(words, matrix_VE, name=name)
    counts = tensors["counts"].numpy()
    kept = np.flatnonzero(counts)
    return WordVectors([words[row] for row in kept.tolist()], matrix_VE[kept], counts[kept].tolist(), name)


def open_vectors(source: str | Path) -> WordVectors:
    """Open a vectors file, a run folder, or one side of it: `runs/ptb:output`.

    Raises `DataError` or `RunFolderError` for anything else.
    """
    path = run_path(source)
    if path.is_file():
        return read_vectors(path)
    folder, _, side = str(source).rpartition(":")
    if side in ("input", "output", "tied") and not path.exists():
        return vectors_of(folder, side)  # type: ignore[arg-type]
    if path.is_dir():
        return vectors_of(path)
    raise DataError(f"{source}: no such vectors file or run folder")


def _kind(run: Path) -> str:
    path = run / CONFIG
    try:
        kind = parse_kind(read_regular(path))["kind"]
    except NewerFormatError as error:
        raise RunFolderError(f"{path}: {error}: update wordtie") from error
    except (OSError, ValueError) as error:
        raise RunFolderError(f"{run}: no run folder, or without a finished model in it") from error
    if kind not in WITH_VECTORS:
        raise RunFolderError(f"{path}: a model of kind {kind} has no word vectors: take the run of a network")
    return kind
