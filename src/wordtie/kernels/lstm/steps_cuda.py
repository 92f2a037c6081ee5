"""The recurrence of an LSTM layer on a GPU, as a CUDA graph: in Triton's kernels, or in torch's if there is no Triton.

The same calls as `wordtie.kernels.lstm.steps_torch`. Where the large products are in bfloat16, the recurrent one is in
TF32, whose 11 bits are three more than bfloat16's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from wordtie.kernels import cuda_graphs
from wordtie.kernels.lstm import steps_torch

FEWEST_STEPS = 8
"""Steps from which on a loop is recorded: to copy the weights takes longer than to launch a few kernels."""


@cache
def loops(device: torch.device, dtype: torch.dtype) -> Any:
    """Return the module of the loops for tensors like these: Triton's, if it is there and can compile."""
    if dtype not in (torch.float32, torch.float64):  # Triton has no exponential of others
        return steps_torch
    try:
        from wordtie.kernels.lstm import steps_triton

        one = torch.zeros(2, 1, 1, device=device, dtype=dtype)
        gates, weight = one.new_zeros(1, 1, 4), one.new_zeros(4, 1)
        for dropped in (None, one[:1]):
            given = weight, one[0], dropped
            steps_triton.forward(gates, *given, one, one[:1], one[:1], one)
            steps_triton.backward(one[:1], one[0], one[0], gates, *given, one, one[:1], gates.clone())
    except torch.OutOfMemoryError:
        raise
    except Exception:  # no Triton, or no C compiler, which it needs, or a card that it does not serve
        return steps_torch
    return steps_triton


@dataclass(frozen=True)
class Steps:
    """Both loops, on a GPU."""

    precision: torch.dtype
    """Of the large products."""

    def forward(self, gates_TBG: Tensor, *rest: Tensor | None) -> None:
        """See `steps_torch.forward`."""
        self._run("forward", (0, 1, 2, 3, 4, 7), (0, 4, 5, 6, 7), gates_TBG, rest)

    def backward(self, d_hidden_TBH: Tensor, *rest: Tensor | None) -> None:
        """See `steps_torch.backward`."""
        self._run("backward", range(9), (1, 2, 9), d_hidden_TBH, rest)

    def _run(
        self, loop: str, read: Any, written: tuple[int, ...], first_T: Tensor, rest: tuple[Tensor | None, ...]
    ) -> None:
        with torch.cuda.device(first_T.device):
            function = getattr(loops(first_T.device, first_T.dtype), loop)
            precision = "high" if self.precision == torch.bfloat16 else "highest"
            work = cuda_graphs.Work(function, read, written, precision)
            if len(first_T) < FEWEST_STEPS:
                work((first_T, *rest))
            else:
                cuda_graphs.run(work, (first_T, *rest))
