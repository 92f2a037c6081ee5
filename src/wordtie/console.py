"""Messages for the person who waits: lines on stderr, and how far a long reading is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from contextlib import suppress


def tell(line: str, end: str = "\n") -> None:
    """Print on stderr. If nobody reads any more, because the terminal or the pipe is gone, work continues."""
    with suppress(OSError):
        print(line, end=end, file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    """`1:02:03`, rounded down; what lies behind is 0."""
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def say(notes: Iterable[str]) -> None:
    """Print notes on stderr: what someone may not have meant."""
    for note in notes:
        tell(f"note: {note}")


class StageProgress:
    """Progress of reading a text, for `wordtie.data.token_file.prepare`; shown once it takes two seconds."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.shown = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Called as the text is read and written."""
        now = time.monotonic()
        if now - self.started < 2 or now - self.shown < 1:
            return
        self.shown = now
        share = f"{100 * done / total:.0f} %" if total else f"{done / 1e6:.0f} MB"
        end = "\r" if sys.stderr.isatty() else "\n"
        tell(f"{stage} {share}      ", end)
