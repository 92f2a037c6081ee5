"""One step: noise, forward, loss and penalty, backward, clip, update.

The gradient is that of the loss summed over the steps of a window and averaged over its streams (Zaremba et al. 2014),
so that learning rates and clipping mean the same whatever the number of streams.
"""

from __future__ import annotations

import math

import torch

from wordtie.training.optim import clip_global_norm
from wordtie.training.run_state import RunState, detached
from wordtie.training.task import Batch, Objective


def train_step(objective: Objective, state: RunState, batch: Batch, clip: float) -> bool:
    """Train on the batch and count it; return False, with no weight changed, if loss or gradient is not finite."""
    model, position = state.model, state.position
    loss, hidden_state = objective.forward(batch, state.hidden_state)
    torch.autograd.backward((loss.total + model.penalty()) / batch.streams)
    objective.add_gradients()
    norm = clip_global_norm(model.parameters(), clip)
    nats = float(loss.cross_entropy.detach())
    if not math.isfinite(nats) or not math.isfinite(float(norm)):
        state.optimiser.zero_grad(set_to_none=True)
        return False
    state.optimiser.step()
    model.constrain()
    state.average.add(model)
    state.optimiser.zero_grad(set_to_none=True)
    state.hidden_state = detached(hidden_state)
    position.count(nats, loss.tokens)
    return True
