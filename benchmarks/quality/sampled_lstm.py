"""A tied LSTM with sampled softmax in plain PyTorch: what a user would write who knows how to save time.

One layer of `nn.LSTM`, a linear map, the word matrix as the output, its bias at the log frequency of the words; Adam
with a short warm-up and a cosine, norm of the gradient at most 1, 32 streams of 32 steps. A step scores the targets and
1,000 words that all tokens share, drawn with replacement by q ~ frequency^0.75. Log (1,000 q) is subtracted from the
score of a word drawn, which makes the sum an estimate of the softmax's (Bengio & Senecal 2008); where the target itself
is drawn, it is left out. Texts are scored over all words.

Shapes: T steps, B streams, N tokens, V words, K words drawn, H units.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.quality.recipe import Batch, Ids, cosine, only, units_for
from benchmarks.quality.recurrent import RecurrentModel, RecurrentRecipe, State

CLIP, WARMUP, POWER = 1.0, 0.025, 0.75
SETTINGS = ("size", "lr", "drawn", "dropout", "streams", "steps")


class MappedModel(RecurrentModel):
    """One LSTM layer and a linear map after it."""

    def __init__(self, words: int, size: int) -> None:
        super().__init__(words, [size, size])
        self.map = nn.Linear(size, size)

    def hidden(self, inputs_TB: Tensor, state: State | None) -> tuple[Tensor, State]:
        output, after = super().hidden(inputs_TB, state)
        return self.map(output), after


class SampledLstm(RecurrentRecipe):
    """Model and optimiser. `dropout` None: by how often the text will be read."""

    model: MappedModel

    def __init__(self, words: int, eos_id: int, minutes: float, **settings: Any) -> None:
        only(SETTINGS, settings)
        super().__init__(eos_id, settings.get("streams", 32))
        self.length, self.drawn = int(settings.get("steps", 32)), int(settings.get("drawn", 1000))
        self.model = MappedModel(words, units_for(settings.get("size", 256), minutes))
        self.bias, self.unigram_bias = self.model.bias, True
        self.planned, self.dropout = settings.get("dropout") is None, settings.get("dropout") or 0.0
        self.rate = settings.get("lr", 0.003)
        self.optimiser = torch.optim.Adam(self.model.parameters(), self.rate, fused=True)
        self.weight_V = torch.ones(words)

    def set_dropout(self, dropout: float) -> None:
        if self.planned:
            self.dropout = dropout

    def set_bias(self, ids: Ids) -> None:
        """And how often each word is drawn."""
        super().set_bias(ids)
        count_V = np.bincount(np.asarray(ids), minlength=len(self.bias))
        self.weight_V = torch.from_numpy(np.maximum(count_V, 1) ** POWER).float()

    def steps(self) -> int:
        return self.length

    def step(self, batch: Batch, share: float) -> None:
        torch.autograd.backward(self.loss(batch))
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate * cosine(share, WARMUP)
        self.optimiser.step()
        self.optimiser.zero_grad()

    def loss(self, batch: Batch) -> Tensor:
        """Mean nats a token, over the words drawn."""
        model = self.model
        state = self.carried(batch)
        output, new = model.layers[0](
            F.dropout(model.embedding(batch.inputs), self.dropout), None if state is None else state[0]
        )
        self.state = [new]
        query_NH = model.map(F.dropout(output, self.dropout)).flatten(0, 1)
        targets_N = batch.targets.flatten()
        drawn_K = torch.multinomial(self.weight_V, self.drawn, replacement=True)
        corrected_V = model.bias - (self.drawn * self.weight_V / self.weight_V.sum()).log()
        own_N = (query_NH * model.embedding(targets_N)).sum(1) + model.bias[targets_N]
        others_NK = F.linear(query_NH, model.embedding(drawn_K), corrected_V[drawn_K])
        others_NK = others_NK.masked_fill(targets_N[:, None] == drawn_K, -torch.inf)
        return F.cross_entropy(torch.cat([own_N[:, None], others_NK], 1), torch.zeros_like(targets_N))
