"""Work on a GPU that is recorded once and replayed: one launch in place of hundreds.

A loop over time launches a few small kernels a step, and Python takes longer to launch one than the GPU to run it. A
CUDA graph has them all. It reads and writes the memory that it was recorded with, so tensors are copied there and back.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from wordtie.kernels.products import products_in

MOST_KEPT = 16
"""Kinds of work remembered; the one that was done longest ago is forgotten first."""
OFTEN = 8
"""How often work is done before it is recorded: a recording takes as long as some ten steps."""

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
        """Record the work. Leaves the operands as they are."""
        self.work = work
        self.held = [None if each is None else each.clone() for each in operands]
        here, aside = torch.cuda.current_stream(), torch.cuda.Stream()
        aside.wait_stream(here)
        with torch.cuda.stream(aside):  # libraries and compilers prepare themselves in a first call
            work(self.held)
        here.wait_stream(aside)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=aside, capture_error_mode="thread_local"):
            work(self.held)

    def replay(self, operands: Operands) -> None:
        """Do the work on these tensors."""
        _copy(operands, self.held, self.work.read)
        self.graph.replay()
        _copy(self.held, operands, self.work.written)


def _copy(sources: Operands, targets: Operands, places: Sequence[int]) -> None:
    """Copy those at these places."""
    given, taken = ([tensors[n] for n in places] for tensors in (sources, targets))
    torch._foreach_copy_([each for each in taken if each is not None], [each for each in given if each is not None])


_known: OrderedDict[Any, Recording | int] = OrderedDict()
"""By work, CUDA stream and kinds of tensors: the recording, or how often the work was done so far."""
_one_at_a_time = threading.Lock()
"""Two threads on one stream must not copy to the same memory in turns."""


def run(work: Work, operands: Operands) -> None:
    """Do the work; if it has been done often on tensors of the same shapes, by a recording."""
    if torch.cuda.is_current_stream_capturing():  # somebody else's recording
        work(operands)
        return
    stream = torch.cuda.current_stream()
    kinds = tuple(None if each is None else (each.shape, each.dtype, each.device) for each in operands)
    key = work.function, work.precision, stream.device_index, stream.cuda_stream, kinds
    with _one_at_a_time:
        known = _known.pop(key, 0)
        if known == OFTEN:
            known = Recording(work, operands)
        if isinstance(known, Recording):
            known.replay(operands)
        else:
            work(operands)
            known += 1
        _known[key] = known
        while len(_known) > MOST_KEPT:
            _known.popitem(last=False)
