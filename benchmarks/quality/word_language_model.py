"""The recipe of PyTorch's example word_language_model: a tied LSTM, plain SGD, a rate that is divided by four.

https://github.com/pytorch/examples/tree/main/word_language_model: 200 units, two layers, dropout 0.2 of the word
vectors, between the layers and before the output, uniform initialisation, rate 20, norm of the gradient at most 0.25,
20 streams of 35 steps, and a quarter of the rate whenever validation has not improved. There it validates after an
epoch; in two minutes there is hardly one. Here it validates ten times, and the rate is also divided at three
planned points, so that the last part of the time has small steps.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.quality.recipe import Batch, only, units_for
from benchmarks.quality.recurrent import RecurrentModel, RecurrentRecipe

CLIP, DECAY = 0.25, 4.0
PLANNED_DECAYS = (0.6, 0.75, 0.9)
"""Shares of the time at which the rate is divided, if it has not been by then."""
SETTINGS = ("size", "layers", "dropout", "lr", "streams", "steps", "unigram_bias")


class WordLanguageModel(RecurrentRecipe):
    """Model and optimiser. `dropout` None: by how often the text will be read."""

    def __init__(self, words: int, eos_id: int, minutes: float, **settings: Any) -> None:
        only(SETTINGS, settings)
        super().__init__(eos_id, settings.get("streams", 20))
        size = units_for(settings.get("size", 200), minutes)
        self.length, self.rate = int(settings.get("steps", 35)), float(settings.get("lr", 20.0))
        self.planned, self.dropout = settings.get("dropout", 0.2) is None, settings.get("dropout", 0.2) or 0.0
        self.model = RecurrentModel(words, [size] * (1 + settings.get("layers", 2)))
        self.bias, self.unigram_bias = self.model.bias, settings.get("unigram_bias", False)
        self.best = float("inf")
        self.decays = 0

    def set_dropout(self, dropout: float) -> None:
        if self.planned:
            self.dropout = dropout

    def steps(self) -> int:
        return self.length

    def step(self, batch: Batch, share: float) -> None:
        self.decays = max(self.decays, sum(share >= point for point in PLANNED_DECAYS))
        parameters = list(self.model.parameters())
        torch.autograd.backward(self.loss(batch))
        nn.utils.clip_grad_norm_(parameters, CLIP)
        with torch.no_grad():
            for parameter in parameters:
                assert parameter.grad is not None
                parameter.add_(parameter.grad, alpha=-self.rate / DECAY**self.decays)
                parameter.grad = None

    def loss(self, batch: Batch) -> Tensor:
        """Mean nats a token."""
        model, state, after = self.model, self.carried(batch), []
        output = F.dropout(model.embedding(batch.inputs), self.dropout)
        for number, layer in enumerate(model.layers):
            output, new = layer(output, None if state is None else state[number])
            output = F.dropout(output, self.dropout)
            after.append(new)
        self.state = after
        logits = F.linear(output.flatten(0, 1), model.embedding.weight, model.bias)
        return F.cross_entropy(logits, batch.targets.flatten())

    def validated(self, nats: float, share: float) -> None:
        if nats < self.best:
            self.best = nats
        else:
            self.decays += 1
