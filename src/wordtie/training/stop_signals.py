"""Ctrl-C, SIGTERM and SIGHUP (a lost connection): a training ends its window and saves; the rest cleans up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, NoReturn

STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Windows has no SIGHUP."""


@contextmanager
def leaving_by_signals() -> Iterator[None]:
    """While it is open, SIGTERM and SIGHUP leave as Ctrl-C does, by an exception, so that no temporary file stays."""

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    ours = threading.current_thread() is threading.main_thread()  # others may not set handlers
    deadly = [number for number in STOPPING if ours and signal.getsignal(number) == signal.SIG_DFL]
    for number in deadly:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in deadly:
            signal.signal(number, signal.SIG_DFL)


class StopSignals:
    """While it is open the first signal is noted in `heard`; a second one does what it always does."""

    def __init__(self) -> None:
        self.heard: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():  # others may not set handlers
            for number in STOPPING:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.heard = number
        self._restore()

    def _restore(self) -> None:
        while self._before:
            signal.signal(*self._before.popitem())

    def leave(self) -> NoReturn:
        """End the program as the signal would have: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP."""
        if self.heard in (signal.SIGINT, None):
            raise KeyboardInterrupt
        raise SystemExit(128 + self.heard)
