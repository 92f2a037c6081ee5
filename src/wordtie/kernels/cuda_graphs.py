"""Work on a GPU that is recorded once and replayed: one launch in place of hundreds.

A loop over time launches a few small kernels a step, and Python takes longer to launch one than the GPU to run it. A
CUDA graph has them all. It reads and writes the memory that it was recorded with, so tensors are copied there and back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from wordtie.kernels.products import products_in

MOST_RECORDED = 16
"""Recordings that are kept. One is never replaced by another: PyTorch may free memory that the others still use."""
OFTEN = 8
"""How often work is done before it is recorded: a recording takes as long as some ten steps."""
MOST_COUNTED = 256
"""Kinds of work that are counted, so that shapes that never come again do not fill the memory."""

Operands = Sequence[Tensor | None]


@dataclass(frozen=True)
class Work:
    """What is recorded: a function that works in place on tensors of fixed shapes, all contiguous, some of them None.

    It must launch the same kernels whatever the tensors hold, and must not wait for the GPU.
    """

    function: Callable[..., None]
    read: Sequence[int]
    """Which of the tensors it reads, by position."""
    written: Sequence[int]
    precision: str = "highest"
    """Of its float32 matrix products, as `torch.set_float32_matmul_precision` has it."""

    def __call__(self, operands: Operands) -> None:
        """Do the work."""
        with products_in(self.precision):
            self.function(*operands)


class Recording:
    """The work on tensors of one kind, with the memory that it reads and writes."""

    def __init__(self, work: Work, operands: Operands) -> None:
        """Record the work on the current device. Leaves the operands as they are, also where it fails.

        Raises `RuntimeError` if there is not enough memory, or if something else in the process interferes.
        """
        self.work = work
        here, aside = torch.cuda.current_stream(), torch.cuda.Stream()
        try:
            with torch.inference_mode(False), torch.no_grad():
                self.held = [None if each is None else each.clone() for each in operands]
                aside.wait_stream(here)
                with torch.cuda.stream(aside):  # libraries and compilers prepare themselves in a first call
                    work(self.held)
                here.wait_stream(aside)
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph, stream=aside, capture_error_mode="thread_local"):
                    work(self.held)
        finally:
            torch.cuda.set_stream(here)  # a capture that fails leaves its own

    def replay(self, operands: Operands) -> None:
        """Do the work on these tensors."""
        _copy(operands, self.held, self.work.read)
        self.graph.replay()
        _copy(self.held, operands, self.work.written)


def _copy(sources: Operands, targets: Operands, places: Sequence[int]) -> None:
    """Copy those at these places."""
    given, taken = ([tensors[n] for n in places] for tensors in (sources, targets))
    torch._foreach_copy_([each for each in taken if each is not None], [each for each in given if each is not None])


_recorded: dict[Any, Recording | None] = {}
"""By work, CUDA stream and kinds of tensors; None where recording failed."""
_counted: dict[Any, int] = {}
"""How often other work was done."""
_one_at_a_time = threading.Lock()
"""Two threads on one stream must not copy to the same memory in turns."""


def run(work: Work, operands: Operands) -> None:
    """Do the work on the current device; if it has been done often on tensors of the same shapes, by a recording."""
    if torch.cuda.is_current_stream_capturing():  # somebody else's recording
        work(operands)
        return
    stream = torch.cuda.current_stream()
    kinds = tuple(None if each is None else (each.shape, each.dtype, each.device) for each in operands)
    key = work.function, work.precision, stream.device_index, stream.cuda_stream, kinds
    with _one_at_a_time:
        if _counted.get(key) == OFTEN and len(_recorded) < MOST_RECORDED:
            del _counted[key]
            _recorded[key] = _recording(work, operands)
        recording = _recorded.get(key)
        if recording is not None:
            recording.replay(operands)
            return
    work(operands)
    if key not in _recorded and (key in _counted or len(_counted) < MOST_COUNTED):
        _counted[key] = min(OFTEN, _counted.get(key, 0) + 1)


def _recording(work: Work, operands: Operands) -> Recording | None:
    """Record the work; None if that fails."""
    try:
        return Recording(work, operands)
    except RuntimeError:  # torch.OutOfMemoryError is one
        return None


def forget() -> None:
    """Give back the memory of all recordings."""
    with _one_at_a_time:
        _recorded.clear()
        _counted.clear()
