"""Locks on files: who trains in a run folder, who prepares a text. `run_folder.locked` takes a run folder's."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import IO, Any

from wordtie.storage.opening import own_file

LOCK = ".lock"
"""A file in the run folder, locked for as long as a process trains there; the system frees it however that ends."""


def open_lock(path: Path) -> IO[Any]:
    """Open a lock file for `hold`, and make it if it is missing. What is in it stays: it need not be a lock file.

    Raises `OSError`, for a symbolic link too.
    """
    return open(path, "ab", opener=own_file)


def hold(file: IO[Any], seconds: float = 0.0, lock: int = fcntl.LOCK_EX) -> bool:
    """Lock a file for as long as it is open, in a child process too; False where another process holds it for so long.

    Who only looks, below, holds it for a moment, and must turn nobody away: it takes a shared lock (`fcntl.LOCK_SH`),
    which does not look like a training to others who look.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, lock | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.01)
        else:
            return True


def held(path: Path, seconds: float = 0.0) -> IO[Any] | None:
    """The lock file at this path, opened and locked; None if another process holds it for so long.

    Whoever held it before may have removed the file: then it is made again. Raises `OSError` as `open_lock` does.
    """
    until = time.monotonic() + seconds
    while True:
        file = open_lock(path)
        if not hold(file, max(0.0, until - time.monotonic())):
            file.close()
            return None
        try:
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
        file.close()


def release(file: IO[Any]) -> None:
    """For a child process, too, that was forked meanwhile and has the file open."""
    fcntl.flock(file, fcntl.LOCK_UN)


def is_locked(folder: Path) -> bool:
    """Whether some process holds the run folder now."""
    try:
        with open(folder / LOCK, "rb", opener=own_file) as file:
            return not hold(file, lock=fcntl.LOCK_SH)
    except OSError:
        return False
