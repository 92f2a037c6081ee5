"""Peak memory of a piece of work, in a process of its own so that nothing before it counts.

Linux keeps the peak of a process in /proc/self/status (`VmHWM`) and lets it be set back to what is in use now; that
is exact and costs nothing while the work runs. (`ru_maxrss` would not do: a new process inherits its parent's.)
"""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import ParamSpec, TypeVar

import torch

from benchmarks.harness import UnavailableError

P = ParamSpec("P")
R = TypeVar("R")

STATUS, PEAK_AGAIN = Path("/proc/self/status"), Path("/proc/self/clear_refs")
MEMORY = Path("/proc/meminfo")


def fresh_process() -> ProcessPoolExecutor:
    """A new interpreter with as many threads as this one, that calls a module's functions until it is closed."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, context, initializer=set_threads, initargs=(torch.get_num_threads(),))


def in_fresh_process(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a module's function in a new interpreter, and give its result."""
    with fresh_process() as process:
        return process.submit(work, *args, **kwargs).result()


def set_threads(threads: int) -> None:
    """Of matrix products; compiled loops are divided over as many."""
    torch.set_num_threads(threads)


def extra_peak(work: Callable[[], object]) -> int:
    """Bytes that the work needed at its peak beyond what was in use before. Raises `UnavailableError` outside Linux."""
    try:
        PEAK_AGAIN.write_text("5")
    except OSError as error:
        raise UnavailableError(f"the peak of memory is set back through {PEAK_AGAIN}: {error.strerror}") from error
    before = peak()
    work()
    return peak() - before


def peak() -> int:
    """Most bytes that this process has had in memory. Raises `UnavailableError` outside Linux."""
    return _kilobytes(STATUS, "VmHWM") * 1024


def available() -> int:
    """Bytes that the machine could still give. Raises `UnavailableError` outside Linux."""
    return _kilobytes(MEMORY, "MemAvailable") * 1024


def _kilobytes(path: Path, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB$", path.read_text() if path.exists() else "", re.MULTILINE)
    if not found:
        raise UnavailableError(f"peak memory is read from {path}, which is not here")
    return int(found[1])
