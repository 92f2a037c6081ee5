"""The time that a contender has, from the start of its process to a model on disk."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal, TypeAlias

Clock: TypeAlias = Literal["wall", "cpu"]
"""`cpu` counts the seconds of the process alone, so that it compares settings on a busy machine."""


@dataclass(frozen=True)
class Budget:
    """So many seconds, counted from `started`."""

    seconds: float
    clock: Clock = "wall"
    started: float = 0.0
    """Reading of the clock at the start: `time.monotonic()`, which all processes share, or `time.process_time()`."""

    @classmethod
    def from_now(cls, seconds: float, clock: Clock = "wall") -> Budget:
        """A budget that starts now."""
        return cls(seconds, clock, now(clock))

    def spent(self) -> float:
        """Seconds since the start."""
        return now(self.clock) - self.started


def now(clock: Clock) -> float:
    """What the clock shows."""
    return time.process_time() if clock == "cpu" else time.monotonic()
