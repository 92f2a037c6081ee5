"""What training asks of the machine and of the process: threads, random numbers, and memory that stays with the process
from step to step.

glibc takes large blocks from the system one by one and hands them back as they are freed, and the system clears every
page before it hands them out again: thousands of pages a step, and tens of thousands where vocabulary or units are
large.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from wordtie.errors import RunFolderError
from wordtie.kernels import cuda_graphs
from wordtie.models.fp32 import in_fp32

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
"""glibc's numbers for two settings: free memory that is kept at the end of the heap, and blocks outside the heap."""
_MOST_KEPT = 2**31 - 1
"""Largest number of bytes that glibc accepts, 2 GiB."""
_USUAL_BLOCKS, _USUALLY_KEPT = 65_536, 64 << 20
"""glibc's default number of blocks outside the heap, and the free bytes that it would keep in the end."""

_ONE_AT_A_TIME = threading.Lock()
"""Lock of a training: torch has one stream of random numbers per process, which two trainings would share."""


def _free_again() -> None:
    """Replace the lock in a forked child process, whose parent may have been training."""
    global _ONE_AT_A_TIME
    _ONE_AT_A_TIME = threading.Lock()


os.register_at_fork(after_in_child=_free_again)


@contextmanager
def exclusive_training(threads: int | None, device: torch.device) -> Iterator[None]:
    """Set up torch for training on the device, and restore it afterwards: random numbers, dtype, precision, threads,
    gradients.

    `threads` None: as many as it has. Raises `RunFolderError` if another training is under way in this process.
    """
    if not _ONE_AT_A_TIME.acquire(blocking=False):
        raise RunFolderError("another training is under way in this process: wait, or train in a process of its own")
    own_threads, own_dtype = torch.get_num_threads(), torch.get_default_dtype()
    keep_freed_memory()
    try:
        torch.set_num_threads(threads or own_threads)
        torch.set_default_dtype(torch.float32)
        with (
            torch.random.fork_rng(devices=[device] if device.type == "cuda" else []),
            torch.inference_mode(False),
            torch.enable_grad(),
            in_fp32(device),
        ):
            yield
    finally:
        torch.set_num_threads(own_threads)
        torch.set_default_dtype(own_dtype)
        hand_freed_memory_back()
        cuda_graphs.forget()
        _ONE_AT_A_TIME.release()


def keep_freed_memory() -> None:
    """Let glibc allocate every block of the process on the heap, whatever its size, and never shrink the heap."""
    if glibc := _glibc():
        glibc.mallopt(_MMAP_MAX, 0)
        glibc.mallopt(_TRIM_THRESHOLD, _MOST_KEPT)


def hand_freed_memory_back() -> None:
    """Return free memory to the system, and let glibc take large blocks from there again."""
    if glibc := _glibc():
        glibc.mallopt(_MMAP_MAX, _USUAL_BLOCKS)
        glibc.mallopt(_TRIM_THRESHOLD, _USUALLY_KEPT)
        glibc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    """Return the C library if it is glibc, else None."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):  # another system
        return None
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
