"""Ctrl-C, SIGTERM and SIGHUP (a lost connection): a training ends its window and saves; the rest cleans up."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, NoReturn

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that stop a training."""


RETRY = 0.02
"""Seconds between checks whether an import is over."""
PATIENCE = 0.5
"""Seconds to wait for an import. Only those at the start of a command take longer, with nothing to clean up yet."""


@contextmanager
def leaving_by_signals() -> Iterator[None]:
    """Let signals that would end the process raise an exception, so that no temporary file is left behind.

    Ctrl-C raises `KeyboardInterrupt`, SIGTERM and SIGHUP `SystemExit`. During an import the exception waits until the
    import is over: raised in the C++ code of a half-loaded library it would abort the process. A long import, or a
    second signal, ends the process at once and without clean-up.
    """
    if threading.current_thread() is not threading.main_thread():  # others may not set handlers
        yield
        return
    outer = _imports_under_way(sys._getframe())
    waiting: list[int] = []
    until = 0.0

    def leave(number: int, frame: FrameType | None) -> None:
        nonlocal until
        if _imports_under_way(frame) <= outer:
            _raise(number)
        if waiting:
            os._exit(128 + number)
        waiting.append(number)
        until = time.monotonic() + PATIENCE
        signal.signal(signal.SIGALRM, look_again)
        signal.setitimer(signal.ITIMER_REAL, RETRY, RETRY)

    def look_again(_: int, frame: FrameType | None) -> None:
        if _imports_under_way(frame) <= outer:
            signal.setitimer(signal.ITIMER_REAL, 0)
            _raise(waiting[0])
        if time.monotonic() > until:
            os._exit(128 + waiting[0])

    default = (signal.SIG_DFL, signal.default_int_handler)
    before = {number: handler for number in STOPPING if (handler := signal.getsignal(number)) in default}
    for number in before:
        signal.signal(number, leave)
    try:
        yield
    finally:
        if waiting:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        for number, handler in before.items():
            signal.signal(number, handler)


def _imports_under_way(frame: FrameType | None) -> int:
    """Count the frames of Python's import system from this one outwards."""
    count = 0
    while frame is not None:
        count += frame.f_code.co_filename.startswith("<frozen importlib")
        frame = frame.f_back
    return count


def _raise(number: int) -> NoReturn:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


class StopSignals:
    """Context in which the first signal is only recorded, in `heard`; a second one has its usual effect."""

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
        _raise(signal.SIGINT if self.heard is None else self.heard)
