"""The fast twin of `wordtie.nn.lstm.LSTMLayer.forward`: the whole layer as one autograd node.

Same equations; what differs is where the work is done. One matrix product makes the input projections
of all T steps, one each makes the gradients of both weights; only the small recurrent product stays
inside the loop over time. The backward pass is written out by hand. With `precision=torch.bfloat16`
the large products run in bf16; the recurrent one, the gates and the state stay in the parameters' dtype.
The cell's elementwise work is numba's where numba serves (see `wordtie.kernels.backend`), else torch's.

Shapes: T steps, B streams, E input size, H units, gate rows i, f, g, o.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from wordtie.kernels import lstm_cell_torch
from wordtie.kernels.backend import numba_serves
from wordtie.kernels.lstm_reading import read_layer
from wordtie.nn.lstm import LSTMLayer, RunLayer


def product(a: Tensor, b: Tensor, precision: torch.dtype) -> Tensor:
    """a @ b with operands rounded to `precision`; the result is in the dtype of `a`."""
    if precision == a.dtype:
        return a @ b
    return (a.to(precision) @ b.to(precision)).to(a.dtype)


def cell_for(operand: Tensor, training: bool) -> tuple[Any, Callable[[Tensor], Any]]:
    """The module of the cell's elementwise work, and how it sees a tensor.

    Outside training it is torch's: the same scores, whether or not something was trained before in the process, and
    no wait for numba where a few words are wanted.
    """
    if training and numba_serves(operand):
        from wordtie.kernels import lstm_cell

        return lstm_cell, Tensor.numpy
    return lstm_cell_torch, lambda tensor: tensor


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
        precision: torch.dtype,
        training: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Masked outputs (T, B, H), then the unmasked last h and c."""
        steps, streams, size = inputs_TBE.shape
        units = hidden_BH.shape[1]
        mask = torch.ones_like(hidden_BH) if mask_BH is None else mask_BH.contiguous()
        gates = product(inputs_TBE.reshape(-1, size), input_weight.T, precision).add_(bias)
        gates = gates.view(steps, streams, 4 * units)
        cells = gates.new_empty(steps + 1, streams, units)
        squashed = gates.new_empty(steps, streams, units)
        masked = gates.new_empty(steps + 1, streams, units)
        hidden = torch.empty_like(hidden_BH)
        cells[0] = cell_BH
        torch.mul(hidden_BH, mask, out=masked[0])
        recurrent_weight_T = recurrent_weight.T
        module, view = cell_for(gates, training)
        work = [view(array) for array in (gates, cells, squashed, masked, mask, hidden)]
        gate_T, cell_T, squashed_T, masked_T, mask_np, hidden_np = work
        for t in range(steps):
            gates[t].addmm_(masked[t], recurrent_weight_T)
            module.cell_forward(gate_T[t], cell_T[t], mask_np, cell_T[t + 1], squashed_T[t], hidden_np, masked_T[t + 1])
        ctx.save_for_backward(inputs_TBE, input_weight, recurrent_weight, mask, gates, cells, squashed, masked)
        ctx.precision = precision
        return masked[1:], hidden, cells[-1].clone()

    @staticmethod
    def backward(ctx: Any, d_outputs: Tensor, d_hidden: Tensor, d_cell: Tensor) -> Any:
        """Gradients in the order of `forward`'s arguments."""
        inputs, input_weight, recurrent_weight, mask, gates, cells, squashed, masked = ctx.saved_tensors
        steps, _, size = inputs.shape
        units = squashed.shape[2]
        d_gates = torch.empty_like(gates)
        d_c = d_cell.clone(memory_format=torch.contiguous_format)
        d_last = d_hidden.clone(memory_format=torch.contiguous_format)
        d_next = torch.zeros_like(d_last)
        module, view = cell_for(gates, training=True)
        work = [view(array) for array in (d_outputs.contiguous(), d_gates, gates, cells, squashed)]
        d_output_T, d_gate_T, gate_T, cell_T, squashed_T = work
        mask_np, d_next_np, d_last_np, d_c_np = (view(array) for array in (mask, d_next, d_last, d_c))
        for t in range(steps - 1, -1, -1):
            module.cell_backward(
                d_output_T[t], d_next_np, d_last_np, mask_np, gate_T[t], cell_T[t], squashed_T[t], d_c_np, d_gate_T[t]
            )
            torch.mm(d_gates[t], recurrent_weight, out=d_next)
            d_last.zero_()
        flat = d_gates.view(-1, 4 * units)
        d_inputs = product(flat, input_weight, ctx.precision).view(inputs.shape)
        d_input_weight = product(flat.T, inputs.reshape(-1, size), ctx.precision)
        d_recurrent_weight = product(flat.T, masked[:-1].reshape(-1, units), ctx.precision)
        return d_inputs, d_next * mask, d_c, d_input_weight, d_recurrent_weight, flat.sum(0), None, None, None


def fast_layer(precision: torch.dtype) -> RunLayer:
    """`LSTMLayer.forward`'s twin, with the large products in `precision`."""

    def run(
        layer: LSTMLayer, inputs_TBE: Tensor, state: tuple[Tensor, Tensor], mask_BH: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        training = torch.is_grad_enabled()
        if mask_BH is None and not training and inputs_TBE.device.type == "cpu" and inputs_TBE.dtype == torch.float32:
            return read_layer(layer, inputs_TBE, state)
        weights = layer.input_weight, layer.recurrent_weight, layer.bias
        outputs, hidden, cell = LSTMLayerFunction.apply(inputs_TBE, *state, *weights, mask_BH, precision, training)  # type: ignore[no-untyped-call]
        return outputs, (hidden, cell)

    return run
