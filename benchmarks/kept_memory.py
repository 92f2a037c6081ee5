"""Training with the memory that a step frees kept in the process, against what glibc does left alone.

Both are our own step, each in a process of its own, since glibc is told for a whole process; they are called in turn.
The peak of either process is in the remarks: what is kept is memory that the step does not need all the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import cycle

from benchmarks.harness import Claim, Effort, MatrixProbe, Measurement, compare
from benchmarks.memory import fresh_process, peak
from benchmarks.small_real import SETUP
from benchmarks.steps import Setup, fast_contender, multiply_adds, windows_of
from wordtie.config import LossSettings, ModelSettings
from wordtie.training.process import keep_freed_memory

SETUPS = {
    "wikitext-2": (
        "medium RE, 650 units",
        Setup(ModelSettings(hidden=650), LossSettings(kind="cross_entropy"), words=33_278),
    ),
    "wikitext-103": ("small REAL, 200 units", replace(SETUP, words=267_735)),
}

_steps: list[Callable[[], object]] = []
"""Of this process: one."""


def prepare(name: str, keep: bool) -> None:
    """In the contender's process, once."""
    if keep:
        keep_freed_memory()
    _, setup = SETUPS[name]
    _steps.append(fast_contender(setup, cycle(windows_of(setup))))


def work() -> object:
    """In the contender's process, each round."""
    return _steps[0]()


def measure(name: str, effort: Effort) -> Measurement:
    """Two processes, in turn."""
    _, setup = SETUPS[name]
    with fresh_process() as alone, fresh_process() as kept:
        alone.submit(prepare, name, False).result()
        kept.submit(prepare, name, True).result()
        found = compare(
            alternative=lambda: alone.submit(work).result(),
            ours=lambda: kept.submit(work).result(),
            multiply_adds=multiply_adds(setup, windows_of(setup)),
            probe=MatrixProbe(setup.precision),
            rounds=effort.rounds,
        )
        peaks = [process.submit(peak).result() / 1e6 for process in (kept, alone)]
    return replace(found, note=f"peak of the process {peaks[0]:,.0f} MB, left alone {peaks[1]:,.0f} MB")


CLAIMS = tuple(
    Claim(
        f"kept-memory-{name}",
        f"training step of {what}, {setup.words:,} words, against glibc left alone",
        1.0,
        partial(measure, name),
    )
    for name, (what, setup) in SETUPS.items()
)
