"""The fast twin of an LSTM layer whose masks differ: what recurs, what goes up, and the candidate.

As `wordtie.kernels.lstm`, whose cell it runs, but the outputs are h itself, for whoever stands above to mask, while
m * h recurs; and where d drops the candidate, c_t = f * c_{t-1} + i * (d_t * g).

Shapes: T steps, B streams, E input size, H units, gate rows i, f, g, o.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from wordtie.kernels.lstm import cell_for, product
from wordtie.nn.lstm import LSTMWeights, RunMasked
from wordtie.nn.masks import LayerMasks


def _forward_dropped(
    gates: Tensor,
    cell: Tensor,
    mask: Tensor,
    dropped: Tensor,
    next_cell: Tensor,
    squashed: Tensor,
    hidden: Tensor,
    masked: Tensor,
) -> None:
    """The cell's forward work in plain torch; see `wordtie.kernels.lstm_dropped_cell`."""
    units = cell.shape[1]
    gates[:, : 2 * units].sigmoid_()
    gates[:, 2 * units : 3 * units].tanh_()
    gates[:, 3 * units :].sigmoid_()
    i, f, g, o = gates.chunk(4, dim=1)
    torch.mul(f, cell, out=next_cell).addcmul_(i, g * dropped)
    torch.tanh(next_cell, out=squashed)
    torch.mul(o, squashed, out=hidden)
    torch.mul(hidden, mask, out=masked)


class MaskedLSTMFunction(torch.autograd.Function):
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
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Outputs (T, B, H), not masked, then the last h and c."""
        steps, streams, size = inputs_TBE.shape
        units = hidden_BH.shape[1]
        mask = torch.ones_like(hidden_BH) if mask_BH is None else mask_BH.contiguous()
        gates = product(inputs_TBE.reshape(-1, size), input_weight.T, precision).add_(bias)
        gates = gates.view(steps, streams, 4 * units)
        cells, masked = (gates.new_empty(steps + 1, streams, units) for _ in range(2))
        squashed, hidden = (gates.new_empty(steps, streams, units) for _ in range(2))
        cells[0] = cell_BH
        torch.mul(hidden_BH, mask, out=masked[0])
        module, view = cell_for(gates, training=True)
        cell_forward = module.cell_forward
        dropped_T: Any = [()] * steps
        if dropped_TBH is not None:
            cell_forward = _forward_dropped
            if view is Tensor.numpy:
                from wordtie.kernels.lstm_dropped_cell import cell_forward
            dropped_T = [(each,) for each in view(dropped_TBH.contiguous())]
        gate_T, cell_T, squashed_T, masked_T, mask_np, hidden_T = (
            view(array) for array in (gates, cells, squashed, masked, mask, hidden)
        )
        recurrent_weight_T = recurrent_weight.T
        for t in range(steps):
            gates[t].addmm_(masked[t], recurrent_weight_T)
            cell_forward(
                gate_T[t], cell_T[t], mask_np, *dropped_T[t], cell_T[t + 1], squashed_T[t], hidden_T[t], masked_T[t + 1]
            )
        ctx.save_for_backward(
            inputs_TBE, input_weight, recurrent_weight, mask, dropped_TBH, gates, cells, squashed, masked
        )
        ctx.precision = precision
        return hidden, hidden[-1].clone(), cells[-1].clone()

    @staticmethod
    def backward(ctx: Any, d_outputs: Tensor, d_hidden: Tensor, d_cell: Tensor) -> Any:
        """Gradients in the order of `forward`'s arguments."""
        inputs, input_weight, recurrent_weight, mask, dropped, gates, cells, squashed, masked = ctx.saved_tensors
        steps, streams, size = inputs.shape
        units = squashed.shape[2]
        d_gates = torch.empty_like(gates)
        d_c = d_cell.clone(memory_format=torch.contiguous_format)
        d_next, nothing = torch.zeros_like(mask), torch.zeros_like(mask)
        d_up = d_outputs.clone(memory_format=torch.contiguous_format)
        d_up[-1] += d_hidden
        module, view = cell_for(gates, training=True)
        arrays = (d_up, d_gates, gates, cells, squashed, mask, d_next, nothing, d_c)
        d_up_T, d_gate_T, gate_T, cell_T, squashed_T, mask_np, d_next_np, zero_np, d_c_np = map(view, arrays)
        for t in range(steps - 1, -1, -1):
            module.cell_backward(
                zero_np, d_next_np, d_up_T[t], mask_np, gate_T[t], cell_T[t], squashed_T[t], d_c_np, d_gate_T[t]
            )
            if dropped is not None:  # of i and of g
                d_gates[t].view(streams, 4, units)[:, ::2] *= dropped[t, :, None]
            torch.mm(d_gates[t], recurrent_weight, out=d_next)
        flat = d_gates.view(-1, 4 * units)
        d_inputs = product(flat, input_weight, ctx.precision).view(inputs.shape)
        d_input_weight = product(flat.T, inputs.reshape(-1, size), ctx.precision)
        d_recurrent_weight = product(flat.T, masked[:-1].reshape(-1, units), ctx.precision)
        return d_inputs, d_next * mask, d_c, d_input_weight, d_recurrent_weight, flat.sum(0), None, None, None


def fast_masked(precision: torch.dtype) -> RunMasked:
    """The twin of `LSTMLayer.forward` for masks of any kind, with the large products in `precision`."""

    def run(
        weights: LSTMWeights, inputs_TBE: Tensor, state: tuple[Tensor, Tensor], masks: LayerMasks
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        given = inputs_TBE, *state, *weights, masks.recurrent, masks.candidate, precision
        outputs, hidden, cell = MaskedLSTMFunction.apply(*given)  # type: ignore[no-untyped-call]
        return outputs, (hidden, cell)

    return run
