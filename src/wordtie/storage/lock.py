"""Whether a run folder is being trained; `run_folder.locked` is what takes the lock."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from typing import IO, Any

LOCK = ".lock"
"""A file in the run folder, locked for as long as a process trains there; the system frees it however that ends."""


def hold(file: IO[Any], seconds: float = 0.0) -> bool:
    """Lock a file for as long as it is open, in a child process too; False where another process holds it for so long.

    Who only looks, below, holds it for a moment, and must turn nobody away.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.01)
        else:
            return True


def release(file: IO[Any]) -> None:
    """For a child process, too, that was forked meanwhile and has the file open."""
    fcntl.flock(file, fcntl.LOCK_UN)


def is_locked(folder: Path) -> bool:
    """Whether some process holds the run folder now."""
    try:
        with (folder / LOCK).open() as file:
            return not hold(file)
    except OSError:
        return False
