"""Locks on files: one process trains in a run folder, or prepares a text. `run_folder.locked` locks a run folder."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import IO, Any

from wordtie.storage.opening import own_file

LOCK = ".lock"
"""File in a run folder, locked for as long as a process trains there; the system unlocks it however that ends."""


def open_lock(path: Path) -> IO[Any]:
    """Open a lock file for `hold`, and create it if it is missing. Its content stays: a log can be locked, too.

    Raises `OSError`, for a symbolic link too.
    """
    return open(path, "ab", opener=own_file)


def hold(file: IO[Any], seconds: float = 0.0, lock: int = fcntl.LOCK_EX) -> bool:
    """Lock a file for as long as it is open, in a child process too; False if another holds it for all of `seconds`.

    `is_locked` holds the file for a moment, and must not turn anyone away: it takes a shared lock (`fcntl.LOCK_SH`),
    which other calls of `is_locked` do not mistake for a training.
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
    """Open and lock the lock file at this path; None if another process holds it for all of `seconds`.

    If the process that held it before removed the file, it is created again. Raises `OSError` as `open_lock` does.
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
    """Release the lock, even if a child process that was forked meanwhile has the file open."""
    fcntl.flock(file, fcntl.LOCK_UN)


def is_locked(folder: Path) -> bool:
    """Whether some process holds the run folder now."""
    try:
        with open(folder / LOCK, "rb", opener=own_file) as file:
            return not hold(file, lock=fcntl.LOCK_SH)
    except OSError:
        return False
