"""Files that are either complete or not there.

A file is written beside its place, flushed to disk, and renamed: a crash or a full disk leaves what was there.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from wordtie.errors import NOT_ALLOWED, SaveError
from wordtie.storage.opening import regular_file


@contextmanager
def saving(target: Path) -> Iterator[None]:
    """Turn an `OSError` from writing into a `SaveError` that names the target.

    A device, a pipe or a socket is refused in the same way: a file would take its place, for everyone.
    """
    try:
        if target.exists() and not (target.is_file() or target.is_dir()):
            raise SaveError(f"{target}: a device, a pipe or a socket, whose place no file may take; name a file")
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        room = "" if error.errno in NOT_ALLOWED else "free some space or "  # safetensors' errors have no number
        hint = f"{room}choose another folder - what was there before is untouched"
        raise SaveError(f"{target}: cannot be written ({reason}); {hint}") from error


def check_new(path: Path, overwrite: bool) -> None:
    """Raise `SaveError` if a file to write is there and is not to be overwritten."""
    if path.exists() and not overwrite:
        raise SaveError(f"{path}: is there already: --overwrite replaces it")


def apply_umask(path: Path) -> None:
    """Give a file the permissions that a new file has here: some libraries create files for their owner alone."""
    new = path.with_name(f".{path.name}-mode")
    new.touch()
    shutil.copymode(new, path)
    new.unlink()


def file_sha256(path: Path) -> str:
    """Compute the SHA-256 of a file's bytes."""
    with open(path, "rb", opener=regular_file) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def mapped(file: IO[bytes]) -> mmap.mmap | bytes:
    """Map an open file into memory: its bytes are read as they are used, and stay if another file takes its place."""
    if not os.fstat(file.fileno()).st_size:  # which cannot be mapped
        return b""
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def sync(path: Path) -> None:
    """Flush a file, or a folder's list of names, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def keep_mode(path: Path, new: Path) -> None:
    """Give a new file the permissions of the one at `path`, if there is one: a private file stays private.

    Not those behind a symbolic link, which the new file replaces without touching what it points to.
    """
    if path.is_file() and not path.is_symlink():
        shutil.copymode(path, new)


def replace_file(new: Path, path: Path) -> None:
    """Put a finished file in the place of `path`, in one step: unlike with `replace_files`, there is always a file.

    Permissions stay those of the earlier file.
    """
    sync(new)
    keep_mode(path, new)
    new.replace(path)
    sync(path.parent)


def replace_files(stage: Path, folder: Path, names: Sequence[str]) -> None:
    """Move the files from the stage, which lies on the same disk, into the folder; the last name is the seal.

    The old seal goes first and the new one comes last, so that a folder with a seal has all files of one version. The
    old one is put back if no file was replaced. A single file is replaced in one step. Permissions stay those of the
    earlier files.
    """
    for name in names:
        if (folder / name).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(folder / name))
        sync(stage / name)
    if len(names) == 1:
        replace_file(stage / names[0], folder / names[0])
        return
    for name in names:
        keep_mode(folder / name, stage / name)
    seal, before = folder / names[-1], stage / f".{names[-1]}-before"
    try:
        if seal.exists():
            seal.replace(before)
        for name in names:
            (stage / name).replace(folder / name)
    except BaseException:  # Ctrl-C and SIGTERM, too
        if before.exists() and (stage / names[0]).exists():
            before.replace(seal)
        raise
    sync(folder)


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a path to write within the block, which then takes the place of `path`; a missing folder is created.

    Raises `SaveError`, before the block if `path` is a folder; an earlier file then stays as it was.
    """
    with saving(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=stage_prefix(path), dir=path.parent) as stage:
            new = Path(stage) / path.name
            yield new
            replace_file(new, path)


def stage_prefix(path: Path) -> str:
    """Return the prefix of the temporary folders of `atomic_write`: a process that was killed leaves its own."""
    return f".{path.name}-"


def write_text(path: Path, text: str) -> None:
    """Write a small file at once, and create its folder. Raises `SaveError`; an earlier file then stays as it was.

    Bytes that are not text, which a file's name may have, are written as their numbers.
    """
    with atomic_write(path) as new:
        new.write_text(text, encoding="utf-8", errors="backslashreplace")


def remove_leftovers(folder: Path, *prefixes: str) -> None:
    """Remove the folders in `folder` with these prefixes. Call it under the lock of what `folder` is for."""
    for prefix in prefixes:
        for left in folder.glob(f"{prefix}*"):
            shutil.rmtree(left, ignore_errors=True)
