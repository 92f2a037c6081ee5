"""Signals while a model trains: the first is noted, a second one does as always, and an ignored one is none."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from wordtie.training.stop_signals import StopSignals, leaving_by_signals


@pytest.fixture(autouse=True)
def as_in_a_shell() -> Iterator[None]:
    """However the tests were begun."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_signal_that_is_ignored_stays_so() -> None:
    """`nohup wordtie train` goes on when the connection is lost."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with StopSignals() as signals:
        os.kill(os.getpid(), signal.SIGHUP)
        assert signals.heard is None
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def test_the_first_is_noted_and_the_second_interrupts() -> None:
    with StopSignals() as signals:
        os.kill(os.getpid(), signal.SIGINT)
        assert signals.heard == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_commands_leave_by_an_exception(number: int) -> None:
    signal.signal(number, signal.SIG_DFL)
    with leaving_by_signals(), pytest.raises(SystemExit) as left:
        os.kill(os.getpid(), number)
    assert left.value.code == 128 + number
    assert signal.getsignal(number) == signal.SIG_DFL


def test_a_training_that_is_asked_twice_leaves_at_once() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with leaving_by_signals(), StopSignals() as signals:
        os.kill(os.getpid(), signal.SIGTERM)
        assert signals.heard == signal.SIGTERM
        with pytest.raises(SystemExit):
            os.kill(os.getpid(), signal.SIGTERM)


def test_whoever_has_a_handler_keeps_it() -> None:
    heard = []
    signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with leaving_by_signals():
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)
    assert heard == [signal.SIGTERM]
