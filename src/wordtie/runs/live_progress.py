"""How far into its epochs a run is, for other processes to read: an epoch may take many minutes.

The file `live_progress` in the run folder has two numbers, epochs and seconds trained so far. It is written about once
a second while a model trains, and removed when its result is written; a run that was killed leaves it. The run itself
never reads it.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from pathlib import Path

from wordtie.runs.layout import LIVE_PROGRESS
from wordtie.storage.opening import own_file, read_regular


class LiveProgress:
    """Writer of the file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LIVE_PROGRESS
        self.written = -math.inf

    def __call__(self, epochs: float, seconds: float) -> None:
        """Write how far training is, at most once a second. Errors are ignored: they stop the run elsewhere."""
        now = time.monotonic()
        if now - self.written < 1:
            return
        self.written = now
        with suppress(OSError), open(self.path, "w", encoding="utf-8", opener=own_file) as file:
            file.write(f"{epochs:.4f} {seconds:.3f}\n")

    def remove(self) -> None:
        """Remove the file, if it is there."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def read(folder: Path) -> tuple[float, float] | None:
    """Read epochs and seconds so far; None if there is no file, or if it is being written."""
    try:
        epochs, seconds = map(float, read_regular(folder / LIVE_PROGRESS).decode().split())
    except (OSError, ValueError):
        return None
    return (epochs, seconds) if math.isfinite(epochs) and math.isfinite(seconds) else None
