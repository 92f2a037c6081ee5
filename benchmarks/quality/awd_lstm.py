"""AWD-LSTM (Merity, Keskar & Socher 2018): an LSTM with dropout everywhere, and averaged SGD or Adam.

Weight drop: a share of each recurrent matrix is zero for a whole window. Variational dropout: one mask for all steps of
a window, of the word vectors, between the layers and before the output. Embedding dropout: words are dropped, whole
rows of the matrix. Activation regularisation is `alpha` times the mean square of the dropped output, temporal
activation regularisation `beta` times that of the change of the output from step to step. Windows have random lengths
around `steps`, and the rate follows the length. `asgd` is SGD whose weights are averaged from when validation has not
improved on the best of more than five validations ago (NT-ASGD), or from 0.6 of the time. `adam` has a warm-up and a
cosine over the time.

Shapes: T steps, B streams, N tokens, V words, H units.
"""

from __future__ import annotations

import random
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.quality.recipe import Batch, Tensors, cosine, only, units_for
from benchmarks.quality.recurrent import RecurrentModel, RecurrentRecipe

CLIP, WEIGHT_DECAY = 0.25, 1.2e-6
"""Of the released code, for SGD."""
ADAM_CLIP = 1.0
DROPOUTS = {"inputs": 0.4, "between": 0.25, "output": 0.4, "words": 0.1, "weights": 0.5}
"""The published ones for Penn Treebank."""
USUAL = 0.4
"""A planned dropout of so much means the published ones; less means as much less of each."""
PATIENCE, AVERAGE_AT_LATEST = 5, 0.6
WARMUP = 0.03
SHORTEST = 5
SETTINGS = (
    "embedding",
    "hidden",
    "layers",
    "dropout",
    "optimiser",
    "lr",
    "streams",
    "steps",
    "alpha",
    "beta",
    "unigram_bias",
    "word_rate",
)


class AwdLstm(RecurrentRecipe):
    """Model and optimiser. `dropout` is a factor of the published ones; None: by how often the text will be read."""

    def __init__(self, words: int, eos_id: int, minutes: float, **settings: Any) -> None:
        only(SETTINGS, settings)
        super().__init__(eos_id, settings.get("streams", 20))
        embedding, hidden = (units_for(settings.get(name, 400), minutes) for name in ("embedding", "hidden"))
        layers = settings.get("layers", 3)
        self.model = RecurrentModel(words, [embedding, *[hidden] * (layers - 1), embedding])
        factor = settings.get("dropout", 1.0)
        self.bias, self.unigram_bias = self.model.bias, settings.get("unigram_bias", True)
        self.planned, self.factor = factor is None, factor or 0.0
        self.length, self.rate = settings.get("steps", 70), settings.get("lr", 30.0)
        self.alpha, self.beta = settings.get("alpha", 2.0), settings.get("beta", 1.0)
        self.adam = None
        if settings.get("optimiser", "asgd") == "adam":
            word_matrix = self.model.embedding.weight
            others = [each for each in self.model.parameters() if each is not word_matrix]
            groups = [{"params": [word_matrix], "factor": settings.get("word_rate", 1.0)},
                      {"params": others, "factor": 1.0}]  # fmt: skip
            self.adam = torch.optim.Adam(groups, self.rate, fused=True)
        self.random = random.Random(torch.initial_seed())
        self.history: list[float] = []
        self.average: Tensors | None = None
        self.averaged = 0

    def set_dropout(self, dropout: float) -> None:
        if self.planned:
            self.factor = dropout / USUAL

    def steps(self) -> int:
        mean = self.length if self.random.random() < 0.95 else self.length / 2
        return max(SHORTEST, int(self.random.gauss(mean, 5)))

    def loss(self, batch: Batch) -> Tensor:
        """Mean nats a token, and the penalties."""
        model, state, after = self.model, self.carried(batch), []
        vectors = F.embedding(batch.inputs, model.embedding.weight)
        row_V1 = F.dropout(torch.ones(len(model.bias), 1), self._share("words"))
        raw = dropped = locked(vectors * row_V1[batch.inputs], self._share("inputs"))
        for number, layer in enumerate(model.layers):
            raw, new = self._layer(layer, dropped, None if state is None else state[number])
            last = number == len(model.layers) - 1
            dropped = locked(raw, self._share("output" if last else "between"))
            after.append(new)
        self.state = after
        logits = F.linear(dropped.flatten(0, 1), model.embedding.weight, model.bias)
        total: Tensor = F.cross_entropy(logits, batch.targets.flatten()) + self.alpha * dropped.pow(2).mean()
        if len(raw) > 1:
            total = total + self.beta * (raw[1:] - raw[:-1]).pow(2).mean()
        return total

    def step(self, batch: Batch, share: float) -> None:
        parameters = list(self.model.parameters())
        torch.autograd.backward(self.loss(batch))
        length = len(batch.inputs) / self.length
        if self.adam is not None:
            nn.utils.clip_grad_norm_(parameters, ADAM_CLIP)
            for group in self.adam.param_groups:
                group["lr"] = self.rate * group["factor"] * cosine(share, WARMUP) * min(1.0, length)
            self.adam.step()
            self.adam.zero_grad()
            return
        nn.utils.clip_grad_norm_(parameters, CLIP)
        with torch.no_grad():
            for parameter in parameters:
                assert parameter.grad is not None
                parameter.mul_(1 - self.rate * length * WEIGHT_DECAY)
                parameter.add_(parameter.grad, alpha=-self.rate * length)
                parameter.grad = None
        if self.average is None and share >= AVERAGE_AT_LATEST:
            self.average = {}
        self._add_to_average()

    def validated(self, nats: float, share: float) -> None:
        earlier = self.history[:-PATIENCE]
        if self.adam is None and self.average is None and earlier and nats > min(earlier):
            self.average = {}
        self.history.append(nats)

    def parameters(self) -> Tensors:
        return self.average or dict(self.model.state_dict())

    def _add_to_average(self) -> None:
        if self.average is None:
            return
        if not self.average:
            self.average, self.averaged = {n: p.clone() for n, p in self.model.state_dict().items()}, 1
            return
        self.averaged += 1
        for name, parameter in self.model.state_dict().items():
            self.average[name].lerp_(parameter, 1 / self.averaged)

    def _share(self, what: str) -> float:
        return min(0.9, self.factor * DROPOUTS[what])

    def _layer(
        self, layer: nn.Module, inputs: Tensor, state: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The layer with a part of its recurrent matrix dropped."""
        assert isinstance(layer, nn.LSTM)
        streams = inputs.shape[1]
        h, c = state or (torch.zeros(1, streams, layer.hidden_size), torch.zeros(1, streams, layer.hidden_size))
        weights = dict(layer.named_parameters())
        recurrent = F.dropout(weights["weight_hh_l0"], self._share("weights"))
        flat = [weights["weight_ih_l0"], recurrent, weights["bias_ih_l0"], weights["bias_hh_l0"]]
        output, h, c = torch.lstm(inputs, (h, c), flat, True, 1, 0.0, True, False, False)
        return output, (h, c)


def locked(vectors_TBH: Tensor, share: float) -> Tensor:
    """Variational dropout: one mask a stream for all steps."""
    return vectors_TBH * F.dropout(torch.ones_like(vectors_TBH[:1]), share) if share else vectors_TBH
