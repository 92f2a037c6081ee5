"""What training asks of the machine: threads, and memory that stays with the process from step to step.

glibc hands large blocks back to the system as they are freed, and the system clears every page before it hands them
out again: thousands of pages a step.
"""

from __future__ import annotations

import ctypes

import torch

_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
_LARGEST_BLOCK = 32 << 20
"""The most that glibc takes."""
_KEPT = 1 << 30


def set_threads(threads: int | None) -> None:
    """So many threads for torch; None: as many as torch chooses."""
    if threads is not None:
        torch.set_num_threads(threads)


def keep_freed_memory() -> None:
    """Tell glibc, for the whole process; elsewhere nothing happens."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library, or another system
        return
    mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK)
    mallopt(_TRIM_THRESHOLD, _KEPT)
