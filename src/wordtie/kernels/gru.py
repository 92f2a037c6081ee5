"""The fast twin of a GRU layer without masks (`wordtie.nn.gru.GRULayer.forward`): the layer as one autograd node.

One product makes the input projections of all T steps, one each makes the gradients of both weights; only the
recurrent product is inside the loop over time. The backward pass is written out by hand:

    dn = dh (1 - z) (1 - n^2)      dz = dh (h_{t-1} - n) z (1 - z)      dr = dn m r (1 - r),     m = U_n h_{t-1} + b'_n
    d input rows = [dr, dz, dn]    d recurrent rows = [dr, dz, dn r]    dh_{t-1} = dh z + d recurrent rows . U

Shapes: T steps, B streams, E input size, H units, 3H gate rows in the order r, z, n.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from wordtie.kernels.backend import refuse_second_derivatives
from wordtie.kernels.products import affine, product
from wordtie.nn.gru import GRULayer


def step_forward(rows: Tensor, recurrent: Tensor, bias: Tensor, inner: Tensor, before: Tensor, after: Tensor) -> None:
    """Compute one update: `rows` (B, 3H) of the input become r, z, n, `inner` m, and `after` h_t; all in place."""
    units = before.shape[1]
    gates, candidate = rows[:, : 2 * units], rows[:, 2 * units :]
    torch.add(recurrent[:, 2 * units :], bias, out=inner)
    gates.add_(recurrent[:, : 2 * units]).sigmoid_()
    candidate.addcmul_(gates[:, :units], inner).tanh_()
    torch.lerp(candidate, before, gates[:, units:], out=after)


def step_backward(
    d_hidden: Tensor, rows: Tensor, inner: Tensor, before: Tensor, d_rows: Tensor, d_recurrent: Tensor
) -> Tensor:
    """Fill both gradients of rows (B, 3H) from dh_t; return the part of dh_{t-1} that does not pass through them."""
    r, z, n = rows.chunk(3, dim=1)
    units = before.shape[1]
    dr, dz, dn = d_rows.chunk(3, dim=1)
    carried = d_hidden * z
    torch.mul(d_hidden - carried, 1 - n * n, out=dn)
    torch.mul(carried * (before - n), 1 - z, out=dz)
    torch.mul(dn * inner, r * (1 - r), out=dr)
    d_recurrent[:, : 2 * units].copy_(d_rows[:, : 2 * units])
    torch.mul(dn, r, out=d_recurrent[:, 2 * units :])
    return carried


class GRUFunction(torch.autograd.Function):
    """One layer over T steps, from a state of zeros."""

    @staticmethod
    def forward(
        ctx: Any, inputs_TBE: Tensor, input_weight: Tensor, recurrent_weight: Tensor, bias: Tensor, inner_bias: Tensor
    ) -> Tensor:
        """Return h of every step, (T, B, H)."""
        steps, streams, size = inputs_TBE.shape
        units = recurrent_weight.shape[1]
        rows = affine(inputs_TBE.reshape(-1, size), input_weight.T, bias).view(steps, streams, 3 * units)
        hidden, inner = rows.new_zeros(steps + 1, streams, units), rows.new_empty(steps, streams, units)
        recurrent = rows.new_empty(streams, 3 * units)
        for t in range(steps):
            torch.mm(hidden[t], recurrent_weight.T, out=recurrent)
            step_forward(rows[t], recurrent, inner_bias, inner[t], hidden[t], hidden[t + 1])
        ctx.save_for_backward(inputs_TBE, input_weight, recurrent_weight, rows, inner, hidden)
        return hidden[1:]

    @staticmethod
    def backward(ctx: Any, d_hidden: Tensor) -> Any:
        """Return gradients in the order of `forward`'s arguments."""
        refuse_second_derivatives()
        inputs, input_weight, recurrent_weight, rows, inner, hidden = ctx.saved_tensors
        d_rows, d_recurrent = torch.empty_like(rows), torch.empty_like(rows)
        d_next = torch.zeros_like(hidden[0])
        for t in range(len(rows) - 1, -1, -1):
            d_next = step_backward(d_next + d_hidden[t], rows[t], inner[t], hidden[t], d_rows[t], d_recurrent[t])
            d_next.addmm_(d_recurrent[t], recurrent_weight)
        flat, recurrent = d_rows.flatten(0, 1), d_recurrent.flatten(0, 1)
        d_inputs = product(flat, input_weight).view(inputs.shape)
        d_weight = product(flat.T, inputs.flatten(0, 1))
        d_recurrent_weight = product(recurrent.T, hidden[:-1].flatten(0, 1))
        units = inner.shape[2]
        return d_inputs, d_weight, d_recurrent_weight, flat.sum(0), recurrent[:, 2 * units :].sum(0)


def run_gru(layer: GRULayer, inputs_TBE: Tensor) -> Tensor:
    """Return h of every step, (T, B, H), from a state of zeros."""
    weights = layer.input_weight, layer.recurrent_weight, layer.bias, layer.recurrent_bias
    hidden_TBH: Tensor = GRUFunction.apply(inputs_TBE, *weights)  # type: ignore[no-untyped-call]
    return hidden_TBH
