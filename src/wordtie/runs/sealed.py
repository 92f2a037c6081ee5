"""The files of a model, sealed by a manifest: replaced so that a reader always finds the old model or the new one.

No file system replaces four files at once, so a new model is first published whole as the folder `.next`, by one
rename, and then takes its place file by file:

    1. write the files to a stage and flush them to disk           the old model is whole
    2. rename the stage to `.next`                                 both are
    3. put each file of `.next` in its place, the seal last        `.next` is whole
    4. rename `.next` away and remove it                           the new model is whole

A reader that finds no whole model in the folder therefore looks in `.next`, and then again, for as long as files
change. It takes no lock. A process that is killed in step 3 leaves a `.next` to read from, and whoever locks the folder
next completes that step. A run folder at rest has no `.next`.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

from wordtie.errors import RunFolderError
from wordtie.runs.contents import NewerFormatError, parse_manifest
from wordtie.runs.layout import (
    CHECKPOINT,
    MANIFEST,
    MIXTURE_FOLDER,
    MODEL,
    MODEL_FILES,
    NEXT,
    NGRAMS,
    PARTS,
    SEALED,
)
from wordtie.storage.atomic import mapped, sync
from wordtie.storage.lock import is_locked
from wordtie.storage.opening import regular_file

LONGEST_WAIT = 60.0
"""Seconds for which a reader tries again while files change: no process exports for so long without a pause."""


def publish(stage: Path, folder: Path) -> None:
    """Make the files in the folder `stage`, which lies on the same disk, the model of the run folder."""
    finish_publishing(folder)
    for name in MODEL_FILES:
        if (folder / name).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(folder / name))
        sync(stage / name)
    sync(stage)
    stage.rename(folder / NEXT)
    sync(folder)
    finish_publishing(folder)


def finish_publishing(folder: Path) -> None:
    """Put the files of `.next`, if there is one, in their places. Call it under the folder's lock."""
    published = folder / NEXT
    if not all((published / name).is_file() for name in MODEL_FILES):
        shutil.rmtree(published, ignore_errors=True)
        return
    with tempfile.TemporaryDirectory(prefix=".model-", dir=folder) as name:
        for file in MODEL_FILES:
            same_file(published / file, Path(name) / file)
            (Path(name) / file).replace(folder / file)
        sync(folder)
        published.rename(Path(name) / NEXT)


def same_file(path: Path, other: Path) -> None:
    """Give a file a second name by a hard link; copy it if the file system has none."""
    try:
        other.hardlink_to(path)
    except OSError:  # a file system without hard links
        shutil.copy(path, other)
        sync(other)


def read_model_files(folder: Path) -> dict[str, mmap.mmap | bytes]:
    """Read the files of a complete model, by name; the model file is mapped. Raises `RunFolderError` without one."""
    until = time.monotonic() + LONGEST_WAIT
    while True:
        before = state_of(folder)
        try:
            return _read(folder, folder)
        except RunFolderError:
            with suppress(RunFolderError):
                return _read(folder / NEXT, folder)
            if state_of(folder) == before or time.monotonic() > until:
                raise


def state_of(folder: Path) -> Sequence[tuple[int, int, int] | None]:
    """Return inode, time and size of each file, which change when it is replaced."""
    found: list[tuple[int, int, int] | None] = []
    for name in (*MODEL_FILES, NEXT, *(f"{NEXT}/{name}" for name in MODEL_FILES)):
        try:
            status = (folder / name).stat()
            found.append((status.st_ino, status.st_mtime_ns, status.st_size))
        except OSError:
            found.append(None)
    return found


def how_to_restore(folder: Path, error: OSError | None = None) -> str:
    """Return the end of an error message: what to do about a damaged model, or one that cannot be read."""
    if isinstance(error, PermissionError):
        return "give yourself permission to read it"
    again = ", or write it again with --resume" if _resumable(folder) else ""
    return f"restore it from a copy{again}"


def _resumable(folder: Path) -> Path | None:
    """Return the run folder whose checkpoint can write the model in the folder again: itself, or the one around it."""
    around = folder.parent.parent if folder.parent.name == PARTS else folder
    inside = around.name in (NGRAMS, MIXTURE_FOLDER)
    runs = (folder, around.parent) if inside else (folder,)
    return next((run for run in runs if (run / CHECKPOINT).exists()), None)


def _read(place: Path, folder: Path) -> dict[str, mmap.mmap | bytes]:
    """Read the files in `place`, and check them against the manifest there.

    All are opened before any is read: what has been opened stays as it is, whatever takes its place meanwhile.
    """
    if folder.is_file():
        raise RunFolderError(f"{folder}: is a file, where the run folder of a model should stand")
    if not folder.is_dir():
        raise RunFolderError(f"{folder}: no such run folder; `wordtie train` makes one")
    hint = how_to_restore(folder)
    with ExitStack() as stack:
        try:
            seal = stack.enter_context(_opened(place / MANIFEST))
        except FileNotFoundError as error:
            raise RunFolderError(
                f"{place / MANIFEST}: missing, so there is no finished model here; {_how_to_finish(folder)}"
            ) from error
        except OSError as error:
            raise _unreadable(place / MANIFEST, folder, error) from error
        files = {}
        for name in SEALED:
            try:
                files[name] = stack.enter_context(_opened(place / name))
            except OSError as error:
                raise _unreadable(place / name, folder, error) from error
        try:
            digests = parse_manifest(seal.read())["sha256"]
        except NewerFormatError as error:
            raise RunFolderError(f"{place / MANIFEST}: {error}: update wordtie") from error
        except ValueError as error:
            raise RunFolderError(f"{place / MANIFEST}: damaged ({error}): {hint}") from error
        contents: dict[str, mmap.mmap | bytes] = {}
        for name, file in files.items():
            contents[name] = mapped(file) if name == MODEL else file.read()
            if hashlib.sha256(contents[name]).hexdigest() != digests.get(name):
                raise RunFolderError(f"{place / name}: damaged, it is not what {MANIFEST} says: {hint}")
    return contents


def _how_to_finish(folder: Path) -> str:
    if is_locked(folder):
        return "it is being trained: wait for its first epoch"
    run = _resumable(folder)
    if run is None:
        return "is this a run folder?"
    return "train it further with --resume" if run == folder else "write it again with --resume"


def _unreadable(path: Path, folder: Path, error: OSError) -> RunFolderError:
    return RunFolderError(f"{path}: cannot be read ({error.strerror}): {how_to_restore(folder, error)}")


def _opened(path: Path) -> IO[bytes]:
    return open(path, "rb", opener=regular_file)
