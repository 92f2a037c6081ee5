"""Read a run folder of kind `word2vec`, without loading what trains one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import RunFolderError, SettingsError
from wordtie.runs.layout import CONFIG, MODEL
from wordtie.runs.parameters import Shape
from wordtie.runs.run_folder import WORD2VEC, check_fits, read_model
from wordtie.word2vec.settings import Word2VecSettings


def read_word2vec(folder: Path) -> tuple[dict[str, Tensor], Tokenizer]:
    """Read (tensors, tokenizer), and check that the tensors fit the settings. Raises `RunFolderError`."""
    config, tensors, tokenizer = read_model(folder, WORD2VEC)
    settings = _settings(config["settings"].get("word2vec", {}), folder / CONFIG)
    check_fits(folder, tensors, lambda: _shapes(settings, config["words"]))
    counts_V = tensors["counts"]
    if int(counts_V.min()) < 0 or int((counts_V > 0).sum()) < 2:
        raise RunFolderError(f"{folder / MODEL}: damaged (counts are not those of a text): restore it from a copy")
    return tensors, tokenizer


def _settings(values: Mapping[str, Any], path: Path) -> Word2VecSettings:
    try:
        return Word2VecSettings(**values)
    except TypeError as error:  # a name that this version does not know
        raise RunFolderError(f"{path}: word2vec: {error}: update wordtie") from error
    except SettingsError as error:
        raise RunFolderError(f"{path}: {error}: restore it from a copy") from error


def _shapes(settings: Word2VecSettings, words: int) -> dict[str, Shape]:
    """Return the shape and dtype of each tensor, under the names that `Word2Vec.tensors` gives them."""
    size = settings.vector_size
    expected: dict[str, Shape] = {
        "embedding.weight": ((words, size), torch.float32),
        "counts": ((words,), torch.int64),
    }
    if settings.head == "untied":
        expected["head.weight"] = ((words, size), torch.float32)
    if settings.head == "tied_linear":
        expected["head.linear"] = ((size, size), torch.float32)
    return expected
