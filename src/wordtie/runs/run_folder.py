"""A run folder is a model: its files, the manifest that seals them, and the lock of the process that trains it.

The names of its files are in `wordtie.runs.layout`.
"""

from __future__ import annotations

import json
import mmap
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args

from wordtie import __version__
from wordtie.config import Settings, from_dict, to_dict
from wordtie.config.paths import path_of
from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import RunFolderError, SettingsError
from wordtie.runs.contents import VERSION, Config, NewerFormatError, Stored, check_config, parse_kind
from wordtie.runs.layout import (
    CHECKPOINT,
    CONFIG,
    INT8,
    INVOCATIONS,
    MANIFEST,
    MIXTURE_FOLDER,
    MODEL,
    MODEL_FILES,
    NEXT,
    NGRAMS,
    PARTS,
    RECORDS,
    RESULT,
    SEALED,
    SETTINGS,
    TOKENIZER,
)
from wordtie.runs.sealed import finish_publishing, publish, read_model_files
from wordtie.storage.atomic import file_sha256, remove_leftovers, saving, stage_prefix
from wordtie.storage.lock import LOCK, held, release
from wordtie.storage.opening import read_regular
from wordtie.storage.strict_json import parse

if TYPE_CHECKING:  # commands on a short text read a model without torch
    from torch import Tensor

    from wordtie.runs.parameters import Shape

LANGUAGE_MODEL, WORD2VEC, TRANSLATION = "language_model", "word2vec", "translation"
Mode: TypeAlias = Literal["new", "resume", "overwrite"]
"""What to do with a run that is in the folder already: refuse, continue it, replace it."""
NGRAM = "ngram"
MIXTURE = "mixture"
OPENERS = {
    LANGUAGE_MODEL: "`wordtie evaluate`, `wordtie surprisal` or `wordtie predict`",
    NGRAM: "`wordtie evaluate`, `wordtie surprisal` or `wordtie predict`",
    MIXTURE: "`wordtie evaluate`, `wordtie surprisal` or `wordtie predict`",
    WORD2VEC: "`wordtie vectors` or `wordtie similarity`",
    TRANSLATION: "`wordtie translate`",
}
"""Commands that open each kind of model."""


@dataclass(frozen=True)
class SavedModel:
    """A language model as stored in its run folder."""

    settings: Settings
    tensors: dict[str, Tensor]
    """Parameters by name, the shared matrix once."""
    tokenizer: Tokenizer
    texts: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each split's text, as far as it is known."""
    imported: Mapping[str, Any] = field(default_factory=dict)
    """Origin of a model that another program trained: that program, and the files with their SHA-256."""


@dataclass(frozen=True)
class SealedModel:
    """A sealed and complete model of any kind."""

    folder: Path
    kind: str
    config: Stored
    content: mmap.mmap | bytes
    """Content of the model file, which holds the numbers, mapped into memory."""
    tokenizer_file: bytes
    """Content of `tokenizer.json`."""


@dataclass(frozen=True)
class StoredModel(SealedModel):
    """A model over the words of one vocabulary."""

    tokenizer: Tokenizer


class Savable(Protocol):
    """A tokenizer of any kind."""

    def save(self, path: Path) -> None:
        """Write `tokenizer.json`. Raises `SaveError`."""


def write_language_model(folder: Path, model: SavedModel, eight_bits: bool = False) -> None:
    """Write the model and its seal; `eight_bits`: store matrices in a quarter of the bytes. Raises `SaveError`."""
    from wordtie.runs.eight_bits import quantise

    words = len(model.tokenizer.vocabulary)
    config = {"words": words, "settings": to_dict(model.settings), "texts": dict(model.texts)}
    if model.imported:
        config["imported"] = dict(model.imported)
    if eight_bits:
        config["storage"] = INT8
    tensors = quantise(model.tensors) if eight_bits else model.tensors
    write_model(folder, LANGUAGE_MODEL, config, tensors, model.tokenizer)


def read_language_model(folder: Path) -> SavedModel:
    """Read a language model, and check that its tensors fit its settings. Raises `RunFolderError`."""
    return understand_language_model(open_stored(folder, LANGUAGE_MODEL))


def understand_language_model(stored: StoredModel) -> SavedModel:
    """Read an opened language model, and check that its tensors fit its settings. Raises `RunFolderError`."""
    from wordtie.runs.parameters import language_model_shapes

    config, tensors, folder = trained_config(stored), read_tensors(stored), stored.folder
    settings = read_settings(config, folder)
    if "storage" in config:
        tensors = _in_fp32(tensors, config["storage"], folder)
    check_fits(folder, tensors, lambda: language_model_shapes(settings.model, config["words"], len(tensors)))
    return SavedModel(settings, tensors, stored.tokenizer, config.get("texts", {}), config.get("imported", {}))


def _in_fp32(tensors: dict[str, Tensor], storage: str, folder: Path) -> dict[str, Tensor]:
    from wordtie.runs.eight_bits import dequantise

    with sound(folder / CONFIG):
        if storage != INT8:
            raise NewerFormatError(f"storage is {storage!r:.20}, which this wordtie does not know")
    with sound(folder / MODEL):
        return dequantise(tensors)


def trained_config(stored: SealedModel) -> Config:
    """Return the checked config of a model that was trained on a text. Raises `RunFolderError`."""
    with sound(stored.folder / CONFIG):
        return check_config(stored.config, Config)


def read_tensors(stored: SealedModel) -> dict[str, Tensor]:
    """Read the tensors of a model that is stored as safetensors. Raises `RunFolderError`."""
    from wordtie.runs.parameters import parse_tensors

    with sound(stored.folder / MODEL):
        return parse_tensors(bytes(stored.content))


def check_fits(folder: Path, tensors: Mapping[str, Tensor], expected: Callable[[], Mapping[str, Shape]]) -> None:
    """Raise `RunFolderError` if the tensors are not the parameters that the config asks for."""
    from wordtie.runs.parameters import check_numbers, check_tensors

    try:
        check_tensors(tensors, expected())
    except ValueError as error:
        raise RunFolderError(f"{folder / MODEL}: does not fit {CONFIG} ({error}): restore both from a copy") from error
    with sound(folder / MODEL):
        check_numbers(tensors)


def write_model(
    folder: Path, kind: str, config: dict[str, Any], tensors: dict[str, Tensor], tokenizer: Savable
) -> None:
    """Write config, model, tokenizer, then the manifest. Raises `SaveError`."""
    from wordtie.runs.checkpoint import save_tensors

    write_sealed(folder, kind, config, partial(save_tensors, tensors, metadata={"format": "pt"}), tokenizer)


def write_sealed(
    folder: Path, kind: str, config: dict[str, Any], write: Callable[[Path], object], tokenizer: Savable
) -> None:
    """Write config, model, tokenizer, then the manifest; `write` makes the model file. Raises `SaveError`."""
    with saving(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".model-", dir=folder) as name:
            stage = Path(name) / NEXT
            stage.mkdir()  # with the rights that a folder has here
            content = {"version": VERSION, "wordtie": __version__, "kind": kind, **config}
            (stage / CONFIG).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
            write(stage / MODEL)
            tokenizer.save(stage / TOKENIZER)
            digests = {name: file_sha256(stage / name) for name in SEALED}
            manifest = {"version": VERSION, "sha256": digests}
            (stage / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
            publish(stage, folder)


def read_model(folder: Path, kind: str) -> tuple[Config, dict[str, Tensor], Tokenizer]:
    """Read (config, tensors, tokenizer) of a sealed run folder.

    Raises `RunFolderError` as `open_stored` does.
    """
    stored = open_stored(folder, kind)
    return trained_config(stored), read_tensors(stored), stored.tokenizer


def open_stored(folder: Path, *kinds: str) -> StoredModel:
    """Open a sealed run folder with a model of one of these kinds, which have a single vocabulary.

    Raises `RunFolderError` as `open_sealed` does.
    """
    sealed = open_sealed(folder, *kinds)
    tokenizer = Tokenizer.from_bytes(sealed.tokenizer_file, folder / TOKENIZER)
    with sound(folder / CONFIG):
        if sealed.config["words"] != len(tokenizer.vocabulary):
            raise ValueError(f"words is {sealed.config['words']}, but {TOKENIZER} has {len(tokenizer.vocabulary)}")
    return StoredModel(**vars(sealed), tokenizer=tokenizer)


def open_sealed(folder: Path, *kinds: str) -> SealedModel:
    """Open a sealed run folder with a model of one of these kinds.

    Raises `RunFolderError` if a file is missing, is not what the manifest says, is from a newer version, or does not
    hold what its format asks for.
    """
    contents = read_model_files(folder)
    with sound(folder / CONFIG):
        head = parse_kind(bytes(contents[CONFIG]))
    kind = head["kind"]
    if kind not in kinds:
        opener = OPENERS.get(kind, "a newer wordtie")
        found = f"{' '.join(kind.split()):.40}"
        raise RunFolderError(f"{folder / CONFIG}: holds a {found} model, not a {kinds[0]} model: open it with {opener}")
    with sound(folder / CONFIG):
        config = check_config(head, Stored)
    return SealedModel(folder, kind, config, contents[MODEL], bytes(contents[TOKENIZER]))


@contextmanager
def sound(path: Path) -> Iterator[None]:
    """Turn a `ValueError` from checking a file's content into a `RunFolderError` that names the file."""
    try:
        yield
    except NewerFormatError as error:
        raise RunFolderError(f"{path}: {error}: update wordtie") from error
    except ValueError as error:
        raise RunFolderError(f"{path}: damaged ({error}): restore it from a copy") from error


def read_settings(config: Mapping[str, Any], folder: Path) -> Settings:
    """Read the settings in a config. Raises `RunFolderError` for those of a newer version, and for invalid ones."""
    try:
        return from_dict(config["settings"])
    except SettingsError as error:
        hint = "update wordtie" if str(error).startswith("unknown") else "restore it from a copy"
        raise RunFolderError(f"{folder / CONFIG}: {error}: {hint}") from error


def is_mixture_of(folder: Path, part: Path) -> bool:
    """Whether the folder holds a mixture whose first part is the model that `part` holds now."""
    try:
        parts = parse(read_regular(folder / CONFIG))["parts"]
        return bool(parts[0] == file_sha256(part / MANIFEST))
    except (OSError, ValueError, TypeError, KeyError, IndexError):
        return False


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the run folder for this process. Raises `RunFolderError` if another process trains it."""
    with saving(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with saving(folder / LOCK):
        handle = held(folder / LOCK, seconds=0.2)
    with handle or nullcontext():
        if handle is None:
            raise RunFolderError(f"{folder}: another process is training it: wait, or train elsewhere")
        with saving(folder):
            finish_publishing(folder)
        remove_leftovers(folder, *(stage_prefix(folder / name) for name in (SETTINGS, RESULT, INVOCATIONS)))
        remove_leftovers((folder / CHECKPOINT).parent, stage_prefix(CHECKPOINT))
        for inner in (folder, folder / NGRAMS, folder / MIXTURE_FOLDER):
            if inner == folder or not inner.is_symlink():  # a link leads to another's model
                remove_leftovers(inner, ".model-")
                if not (inner / PARTS).is_symlink():
                    remove_leftovers(inner / PARTS, ".part-")
        try:
            yield
        finally:
            release(handle)


@contextmanager
def folder_for_training(name: str | Path, mode: Mode, can_resume: bool = True) -> Iterator[Path]:
    """Lock the folder of this name, so that a run can be written; a new folder that stays empty is removed.

    Raises `RunFolderError` as `check_free` and `locked` do.
    """
    folder = named(name)
    check_free(folder, mode, can_resume)  # before a folder is made in a place that holds a file
    found = folder.exists()
    with locked(folder):
        try:
            check_free(folder, mode, can_resume)  # another process may have just finished
            yield folder
        finally:
            if not found and folder.is_dir() and {each.name for each in folder.iterdir()} == {LOCK}:
                (folder / LOCK).unlink()  # while it is held: who waits for it sees that it is gone
                with suppress(OSError):
                    folder.rmdir()


def clear(folder: Path, but: Sequence[str | Path] = ()) -> None:
    """Remove what a run wrote, and nothing else; `but`: files that have been replaced already."""
    everything: list[str | Path] = [*reversed(MODEL_FILES), *RECORDS, CHECKPOINT]
    for name in everything:
        if name not in but:
            (folder / name).unlink(missing_ok=True)
    board = folder / "tensorboard"
    for events in () if board.is_symlink() else board.glob("events.out.tfevents.*"):  # a link leads to another's events
        events.unlink()
    if PARTS not in but:
        remove_mixed(folder)
    for emptied in (folder / CHECKPOINT.parent, folder / "tensorboard"):
        with suppress(OSError):  # what holds something else stays
            emptied.rmdir()


def remove_mixed(folder: Path) -> None:
    """Remove all models that lie inside the run folder: parts of a mixture, and what was mixed from its own model."""
    remove_parts(folder)
    remove_mixture(folder)


def remove_parts(folder: Path, but: Sequence[str] = ()) -> None:
    """Remove the models that a mixture was made of, except those named in `but`."""
    if (folder / PARTS).is_symlink():  # leads to another's models
        return
    for part in (folder / PARTS).glob("[0-9a-f]" * 64):
        if part.name not in but:
            shutil.rmtree(part)
    with suppress(OSError):  # what holds something else stays
        (folder / PARTS).rmdir()


def remove_mixture(folder: Path) -> None:
    """Remove the mixture of the folder's language model with an n-gram model, and the n-gram model."""
    for name in (NGRAMS, MIXTURE_FOLDER):
        inner = folder / name
        if not inner.is_symlink() and inner.is_dir():  # a link leads to another's model
            remove_parts(inner)
            for file in reversed(MODEL_FILES):
                (inner / file).unlink(missing_ok=True)
            with suppress(OSError):
                inner.rmdir()


def named(folder: str | Path) -> Path:
    """Return the path of the folder. Raises `RunFolderError` for an empty name, which would be the current folder."""
    if folder == "":
        raise RunFolderError("the run folder has no name: give one with --out")
    return path_of(folder)


def check_free(folder: Path, mode: Mode, can_resume: bool = True) -> None:
    """Raise `RunFolderError` if training here would lose something that `mode` does not allow to be lost."""
    if mode not in get_args(Mode):
        raise RunFolderError(f"{folder}: mode is one of {', '.join(get_args(Mode))}, got {mode!r}")
    if folder.exists() and not folder.is_dir():
        raise RunFolderError(f"{folder}: is a file, not a folder: choose another --out")
    inside = [Path(name, MANIFEST) for name in (NGRAMS, MIXTURE_FOLDER) if mode == "new"]  # models of these names
    files: list[str | Path] = [CHECKPOINT, MANIFEST, MODEL, CONFIG, TOKENIZER, *RECORDS, *inside]
    there = [name for name in files if (folder / name).exists()]
    if mode == "overwrite" or not there:
        return
    if mode == "new":
        again = "--resume continues it, " if CHECKPOINT in there and can_resume else ""
        trained = any(name in (CHECKPOINT, MANIFEST, MODEL) for name in there)
        what = "holds a run already" if trained else f"has a {there[0]} already"
        raise RunFolderError(f"{folder}: {what}: {again}--overwrite replaces it")
    if CHECKPOINT not in there:  # the first that a run writes
        raise RunFolderError(
            f"{folder}: has a {there[0]}, but no {CHECKPOINT} to resume from: restore it, or give --overwrite"
        )
