"""What training asks of the machine and of the process: threads, random numbers, and memory that stays with the process
from step to step.

glibc hands large blocks back to the system as they are freed, and the system clears every page before it hands them
out again: thousands of pages a step.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from wordtie.errors import RunFolderError

_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
_LARGEST_BLOCK = 32 << 20
"""The most that glibc takes."""
_KEPT = 1 << 30


_ONE_AT_A_TIME = threading.Lock()
"""torch has one stream of random numbers for the process: of two trainings each would draw what the other should."""


def _free_again() -> None:
    """In a child that was forked while its parent trained."""
    global _ONE_AT_A_TIME
    _ONE_AT_A_TIME = threading.Lock()


os.register_at_fork(after_in_child=_free_again)


@contextmanager
def process_of_its_own(threads: int | None, device: torch.device) -> Iterator[None]:
    """torch as training on the device needs it, and afterwards as it was: random numbers, dtype, threads, gradients.

    `threads` None: as many as it has. Raises `RunFolderError` where another training is under way in this process.
    """
    if not _ONE_AT_A_TIME.acquire(blocking=False):
        raise RunFolderError("another training is under way in this process: wait, or train in a process of its own")
    own_threads, own_dtype = torch.get_num_threads(), torch.get_default_dtype()
    try:
        torch.set_num_threads(threads or own_threads)
        torch.set_default_dtype(torch.float32)
        with (
            torch.random.fork_rng(devices=[device] if device.type == "cuda" else []),
            torch.inference_mode(False),
            torch.enable_grad(),
            torch.autocast(device.type, enabled=False),
        ):
            yield
    finally:
        torch.set_num_threads(own_threads)
        torch.set_default_dtype(own_dtype)
        _ONE_AT_A_TIME.release()


def keep_freed_memory() -> None:
    """Tell glibc, for the whole process; elsewhere nothing happens."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library, or another system
        return
    mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK)
    mallopt(_TRIM_THRESHOLD, _KEPT)
