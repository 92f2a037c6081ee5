"""Adam for word matrices of which a window uses few rows.

A dense gradient takes a step of Adam (Kingma & Ba 2015). A sparse gradient, whose rows r are those that the window
used, updates these rows alone:

    v_r = beta2 v_r + (1 - beta2) g_r^2,        p_r -= lr g_r / (sqrt(v_r / (1 - beta2^t)) + eps)

t counts the steps of the matrix. There is no mean gradient (beta1 = 0): where dense Adam spreads what a gradient moves
over the steps after it, through its decaying mean, here the row moves at once. With beta1 > 0 a rare row would move
1 - beta1 times as far, since its mean is not applied again until the row is next used.

v_r does not decay between uses, as it does in dense Adam, so that a rare row moves less far at each use. In a long run,
a row that is used every n-th step moves sqrt(n) times less far. Before it has been used 1 / (1 - beta2) times, the
difference is smaller: after t > 1 / (1 - beta2) steps, it is about sqrt((1 - beta2) t). The higher rate of the word
matrix, `training.word_rate`, makes up for some of that.

Where dense and sparse steps of a matrix alternate, the mean gradient of the dense ones stands still during the sparse
ones: the next dense step continues from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def mean_squares(square_VE: Tensor, rows: Tensor, gradient_RE: Tensor, beta2: float) -> Tensor:
    """Return the new mean squares of the gradients of these rows, (R, E)."""
    return square_VE.index_select(0, rows).mul_(beta2).addcmul_(gradient_RE, gradient_RE, value=1 - beta2)


class RowAdam(torch.optim.Adam):
    """`torch.optim.Adam`, which also takes sparse gradients of matrices; from step to step it may be either."""

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Update the parameters that have a gradient; a sparse one must be of rows, and is dropped once used."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None and parameter.grad.is_sparse:
                    self._update_rows(parameter, group)
                    parameter.grad = None
                elif self.state[parameter] and "exp_avg" not in self.state[parameter]:
                    self.state[parameter]["exp_avg"] = torch.zeros_like(parameter)  # so far it had sparse ones only
        loss: float | None = super().step(closure)
        return loss

    def _update_rows(self, parameter: Tensor, group: dict[str, Any]) -> None:
        gradient = parameter.grad.coalesce()  # type: ignore[union-attr]
        rows, values = gradient.indices()[0], gradient.values()
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        state["step"] += 1
        beta2 = group["betas"][1]
        squares = mean_squares(state["exp_avg_sq"], rows, values, beta2)
        state["exp_avg_sq"].index_copy_(0, rows, squares)
        correction = 1 - beta2 ** float(state["step"])
        update = values / squares.div_(correction).sqrt_().add_(group["eps"])
        parameter.index_add_(0, rows, update, alpha=-float(group["lr"]))
