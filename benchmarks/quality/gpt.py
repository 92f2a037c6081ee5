"""A small GPT over words: causal transformer, pre-norm, learned positions, output tied to the word matrix, AdamW.

The recipe is GPT-2's (Radford et al. 2019) as small trainings of it are usually done: normal initialisation of 0.02,
smaller for what is added to the residual stream, weight decay of the matrices, warm-up and a cosine over the time, norm
of the gradient at most 1. Windows of the text are drawn without replacement. A text is scored by a window that slides
by half its length: each token has at least half a window of context, apart from the first ones of the text.

Shapes: M windows, C context, N tokens, V words, D size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.quality.recipe import Batch, Ids, Recipe, cosine, inputs_of, log_p_of, only, units_for

INIT, CLIP, WEIGHT_DECAY, BETAS = 0.02, 1.0, 0.1, (0.9, 0.99)
WARMUP, LOWEST = 0.05, 0.02
HEAD_SIZE = 32
WINDOWS_AT_ONCE = 16
"""Of a text that is scored."""
SETTINGS = ("size", "layers", "dropout", "lr", "context", "batch", "unigram_bias", "word_rate")


class Block(nn.Module):
    """Attention and a network of two layers, each added to what comes in."""

    def __init__(self, size: int, layers: int) -> None:
        super().__init__()
        self.heads = max(1, size // HEAD_SIZE)
        self.norm_1, self.norm_2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.attend, self.attended = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.wide, self.narrow = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        for linear in (self.attend, self.attended, self.wide, self.narrow):
            added = linear in (self.attended, self.narrow)
            nn.init.normal_(linear.weight, std=INIT / math.sqrt(2 * layers) if added else INIT)
            nn.init.zeros_(linear.bias)

    def forward(self, x_MCD: Tensor, dropout: float) -> Tensor:
        windows, context, size = x_MCD.shape
        parts = self.attend(self.norm_1(x_MCD)).view(windows, context, 3, self.heads, size // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x_MCD = x_MCD + F.dropout(self.attended(attended.transpose(1, 2).reshape(windows, context, size)), dropout)
        hidden = F.gelu(self.wide(self.norm_2(x_MCD)), approximate="tanh")
        return x_MCD + F.dropout(self.narrow(hidden), dropout)


class Transformer(nn.Module):
    """Word ids in, what predicts the next word out."""

    def __init__(self, words: int, size: int, layers: int, context: int) -> None:
        super().__init__()
        self.embedding, self.positions = nn.Embedding(words, size), nn.Embedding(context, size)
        self.blocks = nn.ModuleList(Block(size, layers) for _ in range(layers))
        self.norm = nn.LayerNorm(size)
        self.bias = nn.Parameter(torch.zeros(words))
        nn.init.normal_(self.embedding.weight, std=INIT)
        nn.init.normal_(self.positions.weight, std=INIT)

    def forward(self, inputs_MC: Tensor, dropout: float = 0.0) -> Tensor:
        x_MCD = self.embedding(inputs_MC) + self.positions.weight[: inputs_MC.shape[1]]
        x_MCD = F.dropout(x_MCD, dropout)
        for block in self.blocks:
            x_MCD = block(x_MCD, dropout)
        normed: Tensor = self.norm(x_MCD)
        return normed


class Gpt(Recipe):
    """Model and optimiser. `dropout` None: by how often the text will be read."""

    model: Transformer

    def __init__(self, words: int, eos_id: int, minutes: float, **settings: Any) -> None:
        only(SETTINGS, settings)
        self.eos_id = eos_id
        self.context, self.batch = settings.get("context", 64), settings.get("batch", 16)
        size = units_for(settings.get("size", 128), minutes, HEAD_SIZE)
        self.model = Transformer(words, size, settings.get("layers", 2), self.context)
        self.bias, self.unigram_bias = self.model.bias, settings.get("unigram_bias", True)
        self.planned, self.dropout = settings.get("dropout") is None, settings.get("dropout") or 0.0
        self.rate, self.word_rate = settings.get("lr", 0.002), settings.get("word_rate", 1.0)
        words_VD = self.model.embedding.weight
        matrices = [each for each in self.model.parameters() if each.dim() > 1 and each is not words_VD]
        others = [each for each in self.model.parameters() if each.dim() == 1]
        groups = [{"params": [words_VD], "weight_decay": WEIGHT_DECAY / self.word_rate, "factor": self.word_rate},
                  {"params": matrices, "weight_decay": WEIGHT_DECAY, "factor": 1.0},
                  {"params": others, "weight_decay": 0.0, "factor": 1.0}]  # fmt: skip
        self.optimiser = torch.optim.AdamW(groups, self.rate, BETAS, fused=True)
        self.random = np.random.default_rng(torch.initial_seed())

    def set_dropout(self, dropout: float) -> None:
        if self.planned:
            self.dropout = dropout

    def batches(self, ids: Ids) -> Iterator[Batch]:
        """Windows in random order, each once an epoch; where they start is another place each time."""
        inputs_N, targets_N = inputs_of(ids, self.eos_id)
        context = min(self.context, len(targets_N))
        while True:
            spare = len(targets_N) - context
            starts = np.arange(self.random.integers(min(context, spare + 1)), spare + 1, context)
            for chosen in np.array_split(self.random.permutation(starts), -(-len(starts) // self.batch)):
                place_MC = torch.from_numpy(chosen[:, None] + np.arange(context))
                yield Batch(inputs_N[place_MC], targets_N[place_MC])

    def step(self, batch: Batch, share: float) -> None:
        torch.autograd.backward(self.loss(batch))
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate * group["factor"] * cosine(share, WARMUP, LOWEST)
        self.optimiser.step()
        self.optimiser.zero_grad()

    def loss(self, batch: Batch) -> Tensor:
        """Mean nats a token."""
        hidden = self.model(batch.inputs, self.dropout).flatten(0, 1)
        return F.cross_entropy(F.linear(hidden, self.model.embedding.weight, self.model.bias), batch.targets.flatten())

    def log_p(self, ids: Ids, streams: int = 1) -> Tensor:
        """The window slides over the one text, however many streams are asked for."""
        inputs_N, targets_N = inputs_of(ids, self.eos_id)
        found_N = torch.full((len(targets_N),), math.nan, dtype=torch.float64)
        with torch.no_grad():
            for place_MC, scored_MC in sliding(len(targets_N), self.context):
                hidden = self.model(inputs_N[place_MC])[scored_MC]
                place_S = place_MC[scored_MC]
                matrix, bias = self.model.embedding.weight, self.model.bias
                found_N[place_S] = log_p_of(hidden, targets_N[place_S], matrix, bias)
        return found_N


def sliding(tokens: int, context: int) -> Iterator[tuple[Tensor, Tensor]]:
    """(positions in the text, which of them are scored) of some windows at a time, (M, C) each.

    A window starts half a context after the one before, and its second half is scored; of the first window, all is.
    """
    half = max(1, context // 2)
    last = max(0, tokens - context)
    starts = np.arange(0, last + half, half)
    for some in np.array_split(starts, -(-len(starts) // WINDOWS_AT_ONCE)):
        place_MC = torch.from_numpy(some[:, None] + np.arange(context))
        new_MC = (torch.arange(context) >= context - half) | torch.from_numpy(some[:, None] == 0)
        yield place_MC.clamp(max=tokens - 1), new_MC & (place_MC < tokens)
