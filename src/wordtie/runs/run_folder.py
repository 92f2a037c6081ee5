"""A run folder is a model: its files, the manifest that seals them, and the lock of whoever trains it.

What lies in it is named in `wordtie.runs.layout`.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from wordtie import __version__
from wordtie.config import Settings, from_dict, to_dict
from wordtie.config.paths import path_of
from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import RunFolderError, SettingsError
from wordtie.runs.checkpoint import save_tensors
from wordtie.runs.contents import VERSION, Config, NewerFormatError, check_config, parse_kind, parse_manifest
from wordtie.runs.layout import (
    CHECKPOINT,
    CONFIG,
    MANIFEST,
    MODEL,
    MODEL_FILES,
    RECORDS,
    RESULT,
    SEALED,
    SESSIONS,
    SETTINGS,
    TOKENIZER,
)
from wordtie.runs.parameters import Shape, check_numbers, check_tensors, language_model_shapes, parse_tensors
from wordtie.storage.atomic import file_sha256, remove_leftovers, replace_files, saving, stage_prefix
from wordtie.storage.lock import LOCK, hold, is_locked, release

LANGUAGE_MODEL, WORD2VEC = "language_model", "word2vec"
OPENERS = {
    LANGUAGE_MODEL: "`wordtie evaluate`, `wordtie surprisal` or `wordtie predict`",
    WORD2VEC: "`wordtie vectors` or `wordtie similarity`",
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
    """As `read_model`; the tensors are those of a model of its settings. Raises `RunFolderError`."""
    config, tensors, tokenizer = read_model(folder, LANGUAGE_MODEL)
    settings = read_settings(config, folder)
    check_fits(folder, tensors, lambda: language_model_shapes(settings.model, config["words"], len(tensors)))
    return SavedModel(settings, tensors, tokenizer, config.get("texts", {}))


def check_fits(folder: Path, tensors: Mapping[str, Tensor], expected: Callable[[], Mapping[str, Shape]]) -> None:
    """Raise `RunFolderError` where the tensors are not the parameters that the config asks for."""
    try:
        check_tensors(tensors, expected())
    except ValueError as error:
        raise RunFolderError(f"{folder / MODEL}: does not fit {CONFIG} ({error}): take both from a copy") from error
    with _sound(folder / MODEL):
        check_numbers(tensors)


def write_model(
    folder: Path, kind: str, config: dict[str, Any], tensors: dict[str, Tensor], tokenizer: Tokenizer
) -> None:
    """Write config, model, tokenizer, then the manifest. Raises `SaveError`."""
    with saving(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".model-", dir=folder) as name:
            stage = Path(name)
            content = {"version": VERSION, "wordtie": __version__, "kind": kind, **config}
            (stage / CONFIG).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
            save_tensors(tensors, stage / MODEL, {"format": "pt"})
            tokenizer.save(stage / TOKENIZER)
            digests = {name: file_sha256(stage / name) for name in SEALED}
            manifest = {"version": VERSION, "sha256": digests}
            (stage / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
            replace_files(stage, folder, MODEL_FILES)


def read_model(folder: Path, kind: str) -> tuple[Config, dict[str, Tensor], Tokenizer]:
    """(config, tensors, tokenizer) of a sealed run folder.

    Raises `RunFolderError` where a file is missing, is not what the manifest says, is from a newer version, or does not
    hold what its format asks for.
    """
    contents = _whole(folder)
    with _sound(folder / CONFIG):
        head = parse_kind(contents[CONFIG])
    if head["kind"] != kind:
        opener = OPENERS.get(head["kind"], "a newer wordtie")
        found = f"{' '.join(head['kind'].split()):.40}"
        raise RunFolderError(f"{folder / CONFIG}: holds a {found} model, not a {kind} model: open it with {opener}")
    with _sound(folder / CONFIG):
        config = check_config(head)
    tokenizer = Tokenizer.from_bytes(contents[TOKENIZER], folder / TOKENIZER)
    with _sound(folder / CONFIG):
        if config["words"] != len(tokenizer.vocabulary):
            raise ValueError(f"words is {config['words']}, but {TOKENIZER} has {len(tokenizer.vocabulary)}")
    with _sound(folder / MODEL):
        return config, parse_tensors(contents[MODEL]), tokenizer


@contextmanager
def _sound(path: Path) -> Iterator[None]:
    """While a file's content is checked: a `ValueError` becomes a `RunFolderError` that names the file."""
    try:
        yield
    except NewerFormatError as error:
        raise RunFolderError(f"{path}: {error}: update wordtie") from error
    except ValueError as error:
        raise RunFolderError(f"{path}: damaged ({error}): take it from a copy") from error


def _whole(folder: Path) -> dict[str, bytes]:
    """The model's files; where a training is just replacing them, those of the one or the other."""
    until = time.monotonic() + 1
    while True:
        try:
            return _sealed(folder)
        except RunFolderError:
            if time.monotonic() > until or not (is_locked(folder) and (folder / MODEL).exists()):
                raise
        time.sleep(0.05)


def _sealed(folder: Path) -> dict[str, bytes]:
    """The model's files, checked against the manifest."""
    if not folder.is_dir():
        raise RunFolderError(f"{folder}: no such run folder; `wordtie train` makes one")
    path = folder / MANIFEST
    goes_on = (folder / CHECKPOINT).exists()
    hint = f"take it from a copy{', or have it written anew with --resume' if goes_on else ''}"
    try:
        digests = parse_manifest(path.read_bytes())["sha256"]
    except FileNotFoundError as error:
        hint = "train it further with --resume" if goes_on else "is this a run folder?"
        hint = "it is being trained: wait for its first epoch" if is_locked(folder) else hint
        raise RunFolderError(f"{path}: missing, so there is no finished model here; {hint}") from error
    except OSError as error:
        raise RunFolderError(f"{path}: cannot be read ({error.strerror})") from error
    except NewerFormatError as error:
        raise RunFolderError(f"{path}: {error}: update wordtie") from error
    except ValueError as error:
        raise RunFolderError(f"{path}: damaged ({error}): {hint}") from error
    contents = {}
    for name in SEALED:
        try:
            contents[name] = (folder / name).read_bytes()
        except OSError as error:
            raise RunFolderError(f"{folder / name}: cannot be read ({error.strerror}): {hint}") from error
        if hashlib.sha256(contents[name]).hexdigest() != digests.get(name):
            raise RunFolderError(f"{folder / name}: damaged, it is not what {MANIFEST} says: {hint}")
    return contents


def read_settings(config: Mapping[str, Any], folder: Path) -> Settings:
    """The settings in a config. Raises `RunFolderError` for those of a newer version, or that no model can have."""
    try:
        return from_dict(config["settings"])
    except SettingsError as error:
        hint = "update wordtie" if str(error).startswith("unknown") else "take it from a copy"
        raise RunFolderError(f"{folder / CONFIG}: {error}: {hint}") from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the run folder for one process. Raises `RunFolderError` where another trains it."""
    with saving(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / LOCK).open("w")
        free = hold(handle, seconds=0.2)
    with handle:
        if not free:
            raise RunFolderError(f"{folder}: another process is training it: wait, or train elsewhere")
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
    for events in (folder / "tensorboard").glob("events.out.tfevents.*"):
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
