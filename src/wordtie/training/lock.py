"""Whether a run folder is being trained; `run_folder.locked` is what takes the lock."""

from __future__ import annotations

import fcntl
from pathlib import Path

LOCK = ".lock"
"""A file in the run folder, locked for as long as a process trains there; the system frees it however that ends."""


def is_locked(folder: Path) -> bool:
    """Whether some process holds the run folder now."""
    try:
        with (folder / LOCK).open() as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
