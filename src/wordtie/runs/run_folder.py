"""A run folder is a model: its files, the manifest that seals them, and the lock of whoever trains it.

What lies in it is named in `wordtie.runs.layout`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors.torch import load as load_tensors
from torch import Tensor

from wordtie import __version__
from wordtie.config import Settings, from_dict, to_dict
from wordtie.config.paths import path_of
from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import RunFolderError, SettingsError
from wordtie.runs.checkpoint import save_tensors
from wordtie.runs.layout import (
    CHECKPOINT,
    CONFIG,
    MANIFEST,
    MODEL,
    MODEL_FILES,
    NEXT,
    RECORDS,
    RESULT,
    SEALED,
    SESSIONS,
    SETTINGS,
    TOKENIZER,
)
from wordtie.runs.sealed import VERSION, finish_publishing, publish, read_model_files
from wordtie.storage.atomic import file_sha256, remove_leftovers, saving, stage_prefix
from wordtie.storage.lock import LOCK, hold, open_lock, release

LANGUAGE_MODEL = "language_model"
OPENERS = {
    LANGUAGE_MODEL: "`wordtie evaluate`, `wordtie surprisal` or `wordtie predict`",
    "word2vec": "`wordtie vectors` or `wordtie similarity`",
}
"""Kind of model to the commands for it."""


@dataclass(frozen=True)
class SavedModel:
    """A language model as its run folder has it."""

    settings: Settings
    tensors: dict[str, Tensor]
    """Parameters by name, the shared matrix once."""
    tokenizer: Tokenizer
    texts: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each split's text, as far as the folder says."""


def write_language_model(folder: Path, model: SavedModel) -> None:
    """Write the model and its seal. Raises `SaveError`."""
    words = len(model.tokenizer.vocabulary)
    config = {"words": words, "settings": to_dict(model.settings), "texts": dict(model.texts)}
    write_model(folder, LANGUAGE_MODEL, config, model.tensors, model.tokenizer)


def read_language_model(folder: Path) -> SavedModel:
    """As `read_model`, with the settings understood. Raises `RunFolderError`."""
    config, tensors, tokenizer = read_model(folder, LANGUAGE_MODEL)
    return SavedModel(read_settings(config, folder), tensors, tokenizer, config.get("texts", {}))


def write_model(
    folder: Path, kind: str, config: dict[str, Any], tensors: dict[str, Tensor], tokenizer: Tokenizer
) -> None:
    """Write config, model, tokenizer, then the manifest. Raises `SaveError`."""
    with saving(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".model-", dir=folder) as name:
            stage = Path(name) / NEXT
            stage.mkdir()  # with the rights that a folder has here
            content = {"version": VERSION, "wordtie": __version__, "kind": kind, **config}
            (stage / CONFIG).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
            save_tensors(tensors, stage / MODEL, {"format": "pt"})
            tokenizer.save(stage / TOKENIZER)
            digests = {name: file_sha256(stage / name) for name in SEALED}
            manifest = {"version": VERSION, "sha256": digests}
            (stage / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
            publish(stage, folder)


def read_model(folder: Path, kind: str) -> tuple[dict[str, Any], dict[str, Tensor], Tokenizer]:
    """(config, tensors, tokenizer) of a sealed run folder.

    Raises `RunFolderError` where a file is missing, is not what the manifest says, or is from a newer version.
    """
    contents = read_model_files(folder)
    config: dict[str, Any] = json.loads(contents[CONFIG])
    if config.get("version", 0) > VERSION:
        raise RunFolderError(
            f"{folder / CONFIG}: format {config['version']} of wordtie {config.get('wordtie')}, newer than this one: "
            "update wordtie"
        )
    if config.get("kind") != kind:
        found = str(config.get("kind"))
        opener = OPENERS.get(found, "a newer wordtie")
        raise RunFolderError(f"{folder / CONFIG}: holds a {found} model, not a {kind} model: open it with {opener}")
    return config, load_tensors(contents[MODEL]), Tokenizer.from_bytes(contents[TOKENIZER], folder / TOKENIZER)


def read_settings(config: dict[str, Any], folder: Path) -> Settings:
    """The settings in a config. Raises `RunFolderError` for those of a newer version."""
    try:
        return from_dict(config["settings"])
    except (SettingsError, KeyError, TypeError) as error:
        raise RunFolderError(f"{folder / CONFIG}: {error}: update wordtie") from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the run folder for one process. Raises `RunFolderError` where another trains it."""
    with saving(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with saving(folder / LOCK):
        handle = open_lock(folder / LOCK)
        free = hold(handle, seconds=0.2)
    with handle:
        if not free:
            raise RunFolderError(f"{folder}: another process is training it: wait, or train elsewhere")
        with saving(folder):
            finish_publishing(folder)
        remove_leftovers(folder, ".model-", *(stage_prefix(folder / name) for name in (SETTINGS, RESULT, SESSIONS)))
        remove_leftovers((folder / CHECKPOINT).parent, stage_prefix(CHECKPOINT))
        try:
            yield
        finally:
            release(handle)


def clear(folder: Path, but: Sequence[str | Path] = ()) -> None:
    """Remove what a run wrote, and nothing else that may lie there; `but`: what has been replaced already."""
    everything: list[str | Path] = [*reversed(MODEL_FILES), *RECORDS, CHECKPOINT]
    for name in everything:
        if name not in but:
            (folder / name).unlink(missing_ok=True)
    board = folder / "tensorboard"
    for events in () if board.is_symlink() else board.glob("events.out.tfevents.*"):  # a link leads to another's events
        events.unlink()
    for emptied in (folder / CHECKPOINT.parent, folder / "tensorboard"):
        with suppress(OSError):  # what holds something else stays
            emptied.rmdir()


def named(folder: str | Path) -> Path:
    """The folder of this name. Raises `RunFolderError` for none, which would be the one that we are in."""
    if folder == "":
        raise RunFolderError("the run folder has no name: give one with --out")
    return path_of(folder)


def check_free(folder: Path, resume: bool | None, overwrite: bool) -> None:
    """Raise `RunFolderError` where training here would lose something that nobody said may be lost.

    `resume` is None where a training cannot be gone on with.
    """
    if folder.exists() and not folder.is_dir():
        raise RunFolderError(f"{folder}: is a file, not a folder: choose another --out")
    there = [name for name in (CHECKPOINT, MANIFEST, MODEL, CONFIG, TOKENIZER, *RECORDS) if (folder / name).exists()]
    if overwrite or not there:
        return
    if not resume:
        again = "--resume goes on with it, " if CHECKPOINT in there and resume is not None else ""
        trained = any(name in (CHECKPOINT, MANIFEST, MODEL) for name in there)
        what = "holds a run already" if trained else f"has a {there[0]} already"
        raise RunFolderError(f"{folder}: {what}: {again}--overwrite replaces it")
    if CHECKPOINT not in there:  # the first that a run writes
        raise RunFolderError(
            f"{folder}: has a {there[0]}, but not {CHECKPOINT} to go on from: take it from a copy, or give --overwrite"
        )
