"""The fast twin of an LSTM layer (`wordtie.nn.lstm.LSTMLayer.forward`): the whole layer as one autograd node.

Same equations; what differs is where the work is done. One matrix product makes the input projections
of all T steps, one each makes the gradients of both weights; only the small recurrent product stays
inside the loop over time. The backward pass is written out by hand. With `precision=torch.bfloat16`
the large products run in bf16; the gates and the state stay in the parameters' dtype, and so does the recurrent
product, except on a processor with AMX, where numba rounds its operands, too (`wordtie.kernels.lstm.steps_amx`), and on
a GPU (`wordtie.kernels.lstm.steps_cuda`). The loop over time is numba's where numba serves (see
`wordtie.kernels.backend`), a CUDA graph on a GPU, else torch's. m * h recurs; the outputs are h itself; the next layer
or the head masks them.

Shapes: T steps, B streams, E input size, H units, gate rows i, f, g, o.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from wordtie.kernels.backend import numba_serves, refuse_second_derivatives, tiles_serve
from wordtie.kernels.lstm import steps_torch
from wordtie.kernels.lstm.inference import read_layer
from wordtie.kernels.lstm.steps_cuda import Steps
from wordtie.kernels.products import product
from wordtie.nn.lstm import LSTMWeights
from wordtie.nn.masks import LayerMasks


def rounded_product(a: Tensor, b: Tensor) -> Tensor:
    """Return a @ b in the precision of `a`; the result is in the dtype of `b`."""
    return product(a, b.to(a.dtype)).to(b.dtype)


def _steps_for(operand: Tensor, precision: torch.dtype, training: bool) -> Any:
    """Return the loop over time, forward and backward.

    On a CPU outside training it is torch's: scores are the same whether or not something was trained before in the
    process, and there is no wait for numba when only a few words are read.
    """
    if operand.is_cuda:
        return Steps(precision)
    if training and numba_serves(operand):
        from wordtie.kernels.lstm import steps_amx, steps_numba

        return steps_amx if precision == torch.bfloat16 and tiles_serve() else steps_numba
    return steps_torch


class LSTMLayerFunction(torch.autograd.Function):
    """One layer over one window."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs_TBE: Tensor,
        hidden_BH: Tensor,
        cell_BH: Tensor,
        input_weight: Tensor,
        recurrent_weight: Tensor,
        bias: Tensor,
        mask_BH: Tensor | None,
        dropped_TBH: Tensor | None,
        precision: torch.dtype,
        training: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return outputs (T, B, H), not masked, then the last h and c."""
        steps, streams, size = inputs_TBE.shape
        units = hidden_BH.shape[1]
        mask = torch.ones_like(hidden_BH) if mask_BH is None else mask_BH.contiguous()
        gates = rounded_product(inputs_TBE.reshape(-1, size).to(precision), input_weight.T).add_(bias)
        gates = gates.view(steps, streams, 4 * units)
        cells, masked = (gates.new_empty(steps + 1, streams, units) for _ in range(2))
        squashed, hidden = (gates.new_empty(steps, streams, units) for _ in range(2))
        cells[0] = cell_BH
        torch.mul(hidden_BH, mask, out=masked[0])
        run = _steps_for(gates, precision, training)
        dropped_TBH = None if dropped_TBH is None else dropped_TBH.contiguous()
        run.forward(gates, recurrent_weight, mask, dropped_TBH, cells, squashed, hidden, masked)
        ctx.save_for_backward(
            inputs_TBE, input_weight, recurrent_weight, mask, dropped_TBH, gates, cells, squashed, masked
        )
        ctx.precision = precision
        return hidden, hidden[-1].clone(), cells[-1].clone()

    @staticmethod
    def backward(ctx: Any, d_outputs: Tensor, d_hidden: Tensor, d_cell: Tensor) -> Any:
        """Return gradients in the order of `forward`'s arguments."""
        refuse_second_derivatives()
        inputs, input_weight, recurrent_weight, mask, dropped, gates, cells, squashed, masked = ctx.saved_tensors
        size, units = inputs.shape[2], mask.shape[1]
        d_gates, d_next = torch.empty_like(gates), torch.zeros_like(mask)
        d_c = d_cell.clone(memory_format=torch.contiguous_format)
        d_up = d_outputs.clone(memory_format=torch.contiguous_format)
        d_up[-1] += d_hidden
        run = _steps_for(gates, ctx.precision, training=True)
        run.backward(d_up, d_next, d_c, gates, recurrent_weight, mask, dropped, cells, squashed, d_gates)
        flat = d_gates.view(-1, 4 * units)
        rounded = flat.to(ctx.precision)
        d_inputs = rounded_product(rounded, input_weight).view(inputs.shape)
        d_input_weight = rounded_product(rounded.T, inputs.reshape(-1, size))
        d_recurrent_weight = rounded_product(rounded.T, masked[:-1].reshape(-1, units))
        return d_inputs, d_next * mask, d_c, d_input_weight, d_recurrent_weight, flat.sum(0), None, None, None, None


@dataclass(frozen=True)
class FastLayer:
    """The fast twin of `LSTMLayer.forward`, without the mask on its outputs; large products are in `precision`."""

    precision: torch.dtype

    def __call__(
        self, weights: LSTMWeights, inputs_TBE: Tensor, state: tuple[Tensor, Tensor], masks: LayerMasks
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return (outputs (T, B, H), the state after them)."""
        reads_only = not torch.is_grad_enabled() and masks.recurrent is None and masks.candidate is None
        if reads_only and inputs_TBE.device.type == "cpu" and inputs_TBE.dtype == torch.float32:
            return read_layer(weights, inputs_TBE, state)
        given = inputs_TBE, *state, *weights, masks.recurrent, masks.candidate, self.precision, torch.is_grad_enabled()
        outputs, hidden, cell = LSTMLayerFunction.apply(*given)  # type: ignore[no-untyped-call]
        return outputs, (hidden, cell)
