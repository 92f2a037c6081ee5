"""A mixture in its run folder: weights, sealed as every model is, and a copy of each part.

A part lies in `parts/`, in a folder named by the SHA-256 of its manifest, which the mixture's own config lists: no part
can be exchanged unseen, and a mixture that replaces another never touches the parts of the one before.

Shapes: P parts, R classes of contexts.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays

from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import RunFolderError, SettingsError
from wordtie.models.mixture import Mixture
from wordtie.models.recent_words import RecentWords, recent_words_of
from wordtie.runs.contents import MixtureConfig, check_config, parse_kind
from wordtie.runs.layout import CONFIG, MANIFEST, MIXTURE_FOLDER, MODEL, MODEL_FILES, NGRAMS, PARTS
from wordtie.runs.run_folder import (
    LANGUAGE_MODEL,
    MIXTURE,
    NGRAM,
    StoredModel,
    is_mixture_of,
    open_stored,
    remove_parts,
    sound,
    write_sealed,
)
from wordtie.runs.sealed import how_to_restore, read_model_files, same_file, state_of
from wordtie.storage.atomic import file_sha256, remove_leftovers, saving, sync

MIXED = (LANGUAGE_MODEL, NGRAM)
"""Kinds of models that can be parts of a mixture."""

CHANGED = "was trained further meanwhile: mix it again when its training has ended"


@dataclass(frozen=True)
class SavedMixture:
    """A mixture as stored in its run folder."""

    parts: Sequence[StoredModel]
    weights_RP: NDArray[np.float64]
    recent: RecentWords | None = None


def write_mixture(
    folder: Path,
    parts: Sequence[Path],
    mixture: Mixture,
    tokenizer: Tokenizer,
    opened: Sequence[str | None] | None = None,
    link: bool = False,
) -> None:
    """Copy the run folders' models, then write weights and seal. Raises `SaveError`.

    `opened`: `name_of` each part, from before the weights were fitted; raises `RunFolderError` if one changed since.
    `link`: link files instead of copying them, which takes no space; no file of a model is ever changed in place.
    """
    import torch

    from wordtie.runs.checkpoint import save_tensors

    there = [part.name for part in (folder / PARTS).glob("*")]
    try:
        with saving(folder):
            names = [_copied(part, folder / PARTS, same_file if link else shutil.copy) for part in parts]
        for part, name, before in zip(parts, names, names if opened is None else opened, strict=True):
            if name != before:
                raise RunFolderError(f"{part}: {CHANGED}")
    except BaseException:  # Ctrl-C and SIGTERM, too
        remove_parts(folder, but=there)
        raise
    tensors = {"weights": torch.from_numpy(mixture.weights_RP)}
    config: dict[str, Any] = {"words": len(tokenizer.vocabulary), "parts": names}
    if recent := recent_words_of(mixture):
        config["recent"] = asdict(recent)
    write_sealed(folder, MIXTURE, config, partial(save_tensors, tensors, metadata={"format": "pt"}), tokenizer)
    remove_parts(folder, but=names)


def understand_mixture(stored: StoredModel) -> SavedMixture:
    """Read the parts and weights of an opened mixture; if another replaces it meanwhile, of that one.

    Raises `RunFolderError`.
    """
    state = None
    while True:
        try:
            return _understood(stored)
        except RunFolderError:
            if state == (state := state_of(stored.folder)):
                raise
            stored = open_stored(stored.folder, MIXTURE)


def _understood(stored: StoredModel) -> SavedMixture:
    with sound(stored.folder / CONFIG):
        config = check_config(stored.config, MixtureConfig)
    names, given = config["parts"], config.get("recent")
    parts = []
    try:
        recent = RecentWords(given["weight"], given["half_life"], given["sharpness"]) if given else None
        for name in names:
            part = stored.folder / PARTS / name
            if file_sha256(part / MANIFEST) != name:
                hint = how_to_restore(part)
                raise RunFolderError(f"{part / MANIFEST}: is of another model: {hint}")
            parts.append(open_stored(part, *MIXED))
        weights = load_arrays(bytes(stored.content))["weights"]
    except SafetensorError as error:
        hint = how_to_restore(stored.folder)
        raise RunFolderError(f"{stored.folder / MODEL}: damaged ({error}): {hint}") from error
    except OSError as error:
        hint = how_to_restore(part, error)
        raise RunFolderError(f"{part}: a part is missing ({error.strerror}): {hint}") from error
    except SettingsError as error:
        raise RunFolderError(f"{stored.folder / CONFIG}: {error}: {how_to_restore(stored.folder)}") from error
    except (KeyError, TypeError) as error:
        raise RunFolderError(f"{stored.folder / CONFIG}: does not say what is mixed: update wordtie") from error
    return SavedMixture(parts, weights, recent)


def check_models(folder: Path) -> None:
    """Read a run folder's model whole, and all that is mixed: its parts, or what is mixed from the run's own model.

    Raises `RunFolderError`.
    """
    contents = read_model_files(folder)
    with sound(folder / CONFIG):
        kind = parse_kind(bytes(contents[CONFIG]))["kind"]
    mixture = folder / MIXTURE_FOLDER
    if kind == MIXTURE:
        understand_mixture(open_stored(folder, MIXTURE))
    elif is_mixture_of(mixture, folder):
        understand_mixture(open_stored(mixture, MIXTURE))
        read_model_files(folder / NGRAMS)


def name_of(part: Path) -> str | None:
    """Return the SHA-256 of the manifest, which identifies the model in a run folder; None if there is none."""
    try:
        return file_sha256(part / MANIFEST)
    except OSError:
        return None


def _copied(part: Path, folder: Path, copy: Callable[[Path, Path], object]) -> str:
    """Copy a part into the folder, completely or not at all, unless a sound copy is there; return the copy's name."""
    name = file_sha256(part / MANIFEST)
    folder.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder, ".part-")
    if not _is_sound(folder / name):
        stage = Path(tempfile.mkdtemp(prefix=".part-", dir=folder))
        try:
            for file in MODEL_FILES:
                copy(part / file, stage / file)
                sync(stage / file)
            open_stored(stage, *MIXED)
            stage.chmod(folder.stat().st_mode)
            sync(stage)
            shutil.rmtree(folder / name, ignore_errors=True)  # what is damaged
            stage.rename(folder / name)
        except RunFolderError as error:
            raise RunFolderError(f"{part}: {CHANGED}") from error
        finally:
            shutil.rmtree(stage, ignore_errors=True)  # if it is still there
        sync(folder)
    return name


def _is_sound(part: Path) -> bool:
    try:
        open_stored(part, *MIXED)
    except RunFolderError:
        return False
    return True
