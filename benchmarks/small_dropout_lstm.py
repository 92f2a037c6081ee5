"""A small tied LSTM with ordinary dropout against the same model on `torch.nn.LSTM` and `cross_entropy`.

Ordinary dropout draws a mask at every step, the papers' variational dropout one per window; it is what
`torch.nn.LSTM` offers, so that this is the fairest look at the library's own fast path. Both drop the word vectors,
what goes from layer to layer, and what goes to the softmax (Zaremba et al. 2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.harness import Claim, Effort, Measurement
from benchmarks.steps import Setup, Window, against, windows_of
from wordtie.config import LossSettings, ModelSettings

DROPOUT = 0.3
SETUP = Setup(
    ModelSettings(hidden=200, dropout="zaremba", input_dropout=DROPOUT, hidden_dropout=DROPOUT),
    LossSettings(kind="cross_entropy"),
)


def library_contender(setup: Setup, windows: Iterator[Window]) -> Callable[[], float]:
    """`nn.Embedding`, `nn.LSTM`, `F.linear` with the same matrix, `F.cross_entropy`, `torch.optim.SGD`."""
    settings, training = setup.model, setup.training
    torch.manual_seed(1)
    embedding = nn.Embedding(setup.words, settings.hidden)
    core = nn.LSTM(settings.hidden, settings.hidden, settings.layers, dropout=DROPOUT)
    parameters = [*embedding.parameters(), *core.parameters()]
    for parameter in parameters:
        nn.init.uniform_(parameter, -settings.init, settings.init)
    optimiser = torch.optim.SGD(parameters, training.lr)
    zeros = torch.zeros(settings.layers, training.streams, settings.hidden)
    state = (zeros, zeros)

    def step() -> float:
        nonlocal state
        inputs_TB, targets_TB = next(windows)
        outputs_TBH, state = core(F.dropout(embedding(inputs_TB), DROPOUT), state)
        state = (state[0].detach(), state[1].detach())
        logits = F.linear(F.dropout(outputs_TBH, DROPOUT).flatten(0, 1), embedding.weight)
        loss = F.cross_entropy(logits, targets_TB.flatten(), reduction="sum")
        optimiser.zero_grad()
        torch.autograd.backward(loss / training.streams)
        nn.utils.clip_grad_norm_(parameters, training.clip)
        optimiser.step()
        return loss.item()

    return step


def measure(setup: Setup, effort: Effort) -> Measurement:
    """Ours against the library's."""
    windows = windows_of(setup)
    return against(library_contender(setup, cycle(windows)), setup, windows, effort)


WHAT = "training step of a small tied LSTM with ordinary dropout, against torch.nn.LSTM and cross_entropy"
CLAIMS = (
    Claim("small-dropout-lstm", WHAT, 2.0, lambda effort: measure(SETUP, effort)),
    Claim("small-dropout-lstm-fp32", f"{WHAT}, fp32 forced", 1.3, lambda effort: measure(SETUP.in_fp32(), effort)),
)
