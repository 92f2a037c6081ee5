"""The training step as the papers' code is written: the alternative that every claim of speed names.

A Python loop over time with the masks, `F.linear` to N x V logits, `cross_entropy`, `kl_div` between two softmaxes,
autograd, fp32, `clip_grad_norm_` and a plain SGD update. Written from Zaremba et al. (2014), Gal & Ghahramani (2016)
and Inan, Khosravi & Socher (2017); shares nothing with the package.

Shapes: T steps, B streams, N = T * B tokens, V words, E embedding size, H units, gate rows i, f, g, o (4H).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

State = list[tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class NaiveMasks:
    """Entries 0 or 1 / keep, constant over the window."""

    input_mask: Tensor | float
    hidden_masks: list[Tensor | float]


@dataclass(frozen=True)
class NaiveLoss:
    """Cross-entropy, and with `gamma` the augmented loss."""

    gamma: float = 0.0
    temperature: float = 20.0
    gradient_through_target: bool | str = True
    """`entropy`: through the entropy of the similar words alone."""


class NaiveModel(nn.Module):
    """Embedding, stacked LSTM, softmax; `output` and `output_bias` None where tied."""

    def __init__(self, words: int, units: int, layers: int, tied: bool, output_bias: bool, init: float = 0.1) -> None:
        super().__init__()
        self.words = nn.Parameter(torch.empty(words, units))
        self.input_weights = nn.ParameterList(torch.empty(4 * units, units) for _ in range(layers))
        self.recurrent_weights = nn.ParameterList(torch.empty(4 * units, units) for _ in range(layers))
        self.biases = nn.ParameterList(torch.empty(4 * units) for _ in range(layers))
        self.output = None if tied else nn.Parameter(torch.empty(words, units))
        self.output_bias = nn.Parameter(torch.empty(words)) if output_bias else None
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -init, init)

    @property
    def output_words(self) -> Tensor:
        return self.words if self.output is None else self.output

    def initial_state(self, streams: int) -> State:
        units = self.words.shape[1]
        return [(self.words.new_zeros(streams, units), self.words.new_zeros(streams, units)) for _ in self.biases]

    def draw_masks(self, streams: int, input_dropout: float, hidden_dropout: float) -> NaiveMasks:
        units = self.words.shape[1]

        def mask(drop: float) -> Tensor:
            return torch.bernoulli(torch.full((streams, units), 1 - drop, device=self.words.device)) / (1 - drop)

        return NaiveMasks(mask(input_dropout), [mask(hidden_dropout) for _ in self.biases])

    def forward(self, inputs_TB: Tensor, state: State, masks: NaiveMasks) -> tuple[Tensor, State]:
        """Masked outputs of the top layer, (N, H), and the unmasked last state."""
        outputs = []
        for below in F.embedding(inputs_TB, self.words) * masks.input_mask:
            new_state = []
            for layer, (hidden, cell) in enumerate(state):
                gates = F.linear(below, self.input_weights[layer], self.biases[layer])
                gates = gates + F.linear(hidden * masks.hidden_masks[layer], self.recurrent_weights[layer])
                i, f, g, o = gates.chunk(4, dim=1)
                cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
                hidden = torch.sigmoid(o) * torch.tanh(cell)
                below = hidden * masks.hidden_masks[layer]
                new_state.append((hidden, cell))
            state = new_state
            outputs.append(below)
        return torch.cat(outputs), state

    def logits(self, hidden_NH: Tensor) -> Tensor:
        return F.linear(hidden_NH, self.output_words, self.output_bias)


def naive_loss(
    hidden_NH: Tensor,
    output_VH: Tensor,
    output_bias_V: Tensor | None,
    targets_N: Tensor,
    words_VE: Tensor,
    settings: NaiveLoss,
) -> Tensor:
    """Summed over the tokens, in nats; equations 2.4 and 3.1 to 3.7 of Inan, Khosravi & Socher (2017)."""
    scores = F.linear(hidden_NH, output_VH)
    logits = scores if output_bias_V is None else scores + output_bias_V
    loss = F.cross_entropy(logits, targets_N, reduction="sum")
    if settings.gamma == 0:
        return loss
    if not settings.gradient_through_target:
        words_VE = words_VE.detach()
    similar = F.softmax(F.linear(words_VE[targets_N], words_VE) / settings.temperature, dim=1)
    predicted = F.log_softmax(scores / settings.temperature, dim=1)
    if settings.gradient_through_target == "entropy":
        labels, negative_entropy = similar.detach(), (similar * similar.log()).sum()
        divergence = negative_entropy - (labels * predicted).sum()
    else:
        divergence = F.kl_div(predicted, similar, reduction="sum")
    return loss + settings.gamma * settings.temperature * divergence


def naive_update(parameters: Iterable[nn.Parameter], lr: float, clip: float) -> None:
    """Clip the gradients to a global norm of `clip`, and take a step down them."""
    parameters = list(parameters)
    nn.utils.clip_grad_norm_(parameters, clip)
    with torch.no_grad():
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.sub_(lr * parameter.grad)


def naive_step(
    model: NaiveModel,
    inputs_TB: Tensor,
    targets_TB: Tensor,
    state: State,
    masks: NaiveMasks,
    loss: NaiveLoss,
    lr: float = 1.0,
    clip: float = 5.0,
) -> tuple[float, State]:
    """One window: the summed loss in nats, and the state to carry on. The gradient is that of the loss per stream."""
    model.zero_grad()
    hidden_NH, state = model(inputs_TB, state, masks)
    total = naive_loss(hidden_NH, model.output_words, model.output_bias, targets_TB.flatten(), model.words, loss)
    (total / inputs_TB.shape[1]).backward()
    naive_update(model.parameters(), lr, clip)
    return total.item(), [(hidden.detach(), cell.detach()) for hidden, cell in state]


@torch.no_grad()
def naive_score(model: NaiveModel, inputs_TB: Tensor, targets_TB: Tensor, state: State) -> tuple[float, State]:
    """Summed nats of one window, nothing dropped, and the state to carry on."""
    hidden_NH, state = model(inputs_TB, state, NaiveMasks(1.0, [1.0] * len(state)))
    return F.cross_entropy(model.logits(hidden_NH), targets_TB.flatten(), reduction="sum").item(), state


@torch.no_grad()
def naive_surprisal(model: NaiveModel, inputs_TB: Tensor, targets_TB: Tensor, state: State) -> tuple[Tensor, State]:
    """Surprisal of each token and entropy of its prediction, in bits, (2, N), and the state to carry on."""
    hidden_NH, state = model(inputs_TB, state, NaiveMasks(1.0, [1.0] * len(state)))
    logits = model.logits(hidden_NH)
    log_p = F.log_softmax(logits, dim=1) / math.log(2)
    surprisal = -log_p[torch.arange(len(log_p)), targets_TB.flatten()]
    entropy = -(F.softmax(logits, dim=1) * log_p).sum(1)
    return torch.stack([surprisal, entropy]), state
