"""Messages for the person who waits: lines on stderr, and how far a long reading is.

`logging.getLogger("wordtie").setLevel("ERROR")` silences them.
"""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

LOGGER = logging.getLogger("wordtie")
"""Its level decides whether notes and progress, which are INFO, are shown."""
if LOGGER.level == logging.NOTSET:
    LOGGER.setLevel(logging.INFO)
SECONDS_BETWEEN_LINES = 30.0
"""Of progress, in a log file."""
SHORT = 2.0
"""Seconds of work of which nothing is shown."""


def is_silent() -> bool:
    """Whether notes and progress are not shown."""
    return not LOGGER.isEnabledFor(logging.INFO)


def tell(line: str, end: str = "\n") -> None:
    """Print on stderr. If nobody reads any more, because the terminal or the pipe is gone, work continues."""
    if is_silent():
        return
    with suppress(OSError):
        print(line, end=end, file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    """`1:02:03`, rounded down; what lies behind is 0."""
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def amount(count: int, noun: str) -> str:
    """`1 layer`, `1,000 layers`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def say(notes: Iterable[str]) -> None:
    """Print notes on stderr: what someone may not have meant."""
    for note in notes:
        tell(f"note: {note}")


def pause() -> float:
    """Seconds between two lines of progress: the line of a terminal is overwritten, that of a log file stays."""
    return 1.0 if sys.stderr.isatty() else SECONDS_BETWEEN_LINES


def tell_for_now(line: str) -> None:
    """Print a line of progress, which the next line overwrites on a terminal."""
    tell(*(f"{line}      ", "\r") if sys.stderr.isatty() else (line, "\n"))


class StageProgress:
    """Progress of work through a text, of which a share is done; shown once it takes two seconds."""

    def __init__(self, unit: str = "MB", size: float = 1e6) -> None:
        """`unit` and its size are of what is counted where the total is not known."""
        self.unit = unit
        self.size = size
        self.started = time.monotonic()
        self.shown = -math.inf

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Called as the text is read and written; `total` is 0 where it is not known."""
        now = time.monotonic()
        if now - self.started < SHORT or now - self.shown < pause():
            return
        self.shown = now
        tell_for_now(f"{stage} {100 * done / total:.0f} %" if total else f"{stage} {done / self.size:,.0f} {self.unit}")


@contextmanager
def waiting(what: str, after: float = SHORT) -> Iterator[None]:
    """While work is under way that does not say how far it is: tell how long it has taken, once it takes `after`."""
    started, done = time.monotonic(), threading.Event()

    def watch() -> None:
        if done.wait(after):
            return
        tell_for_now(f"{what} ...")
        while not done.wait(pause()):
            tell_for_now(f"{what} ... {clock(time.monotonic() - started)}")

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
