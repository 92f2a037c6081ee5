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


@cache
def loops() -> Any:
    """Return the module of the loops that are recorded: Triton's, if it is there and can compile."""
    try:
        from wordtie.kernels.lstm import steps_triton

        one = torch.zeros(2, 1, 1, device="cuda")
        steps_triton.forward(one.new_zeros(1, 1, 4), one.new_zeros(4, 1), one[0], None, one, one[:1], one[:1], one)
    except Exception:  # no Triton, or no C compiler, which it needs, or a card that it does not serve
        return steps_torch
    return steps_triton


@dataclass(frozen=True)
class Steps:
    """Both loops, on a GPU."""

    precision: torch.dtype
    """Of the large products."""

    def forward(self, *operands: Tensor | None) -> None:
        """See `steps_torch.forward`."""
        work = cuda_graphs.Work(loops().forward, read=(0, 1, 2, 3, 4, 7), written=(0, 4, 5, 6, 7), precision=self.name)
        cuda_graphs.run(work, operands)

    def backward(self, *operands: Tensor | None) -> None:
        """See `steps_torch.backward`."""
        work = cuda_graphs.Work(loops().backward, read=range(9), written=(1, 2, 9), precision=self.name)
        cuda_graphs.run(work, operands)

    @property
    def name(self) -> str:
        """Precision of the recurrent product, as `torch.set_float32_matmul_precision` has it."""
        return "high" if self.precision == torch.bfloat16 else "highest"
