"""One window: words drawn where there is noise, forward, loss and penalty, backward, clip, update.

The gradient is that of the loss summed over the T steps and averaged over the B streams (Zaremba et al. 2014), so
that learning rates and clipping mean the same whatever the number of streams.

Shapes: T steps, B streams, N = T * B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from wordtie.losses.loss import Loss
from wordtie.noise.noisy_forward import Noise
from wordtie.training.optim import clip_global_norm
from wordtie.training.run_state import RunState, detached


@dataclass(frozen=True)
class Step:
    """What a window is trained with."""

    loss: Loss
    clip: float
    noise: Noise

    def __call__(self, now: RunState, inputs_TB: Tensor, targets_TB: Tensor) -> bool:
        """Train on the window and count it; False, and no weight changed, where loss or gradient is no number."""
        model, position = now.model, now.position
        scoring, state = self.noise.forward(model, inputs_TB, targets_TB, now.carried)
        loss = self.loss.forward(scoring)
        torch.autograd.backward((loss.total + model.penalty()) / targets_TB.shape[1])
        self.noise.add_l2_gradient(model)
        norm = clip_global_norm(model.parameters(), self.clip)
        nats = float(loss.cross_entropy.detach())
        if not math.isfinite(nats) or not math.isfinite(float(norm)):
            now.optimiser.zero_grad(set_to_none=True)
            return False
        now.optimiser.step()
        model.constrain()
        now.average.add(model)
        now.optimiser.zero_grad(set_to_none=True)
        now.carried = detached(state)
        position.nats += nats
        position.tokens += loss.tokens
        position.window += 1
        return True
