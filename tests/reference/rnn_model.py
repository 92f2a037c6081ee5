"""The model of colorlessgreenRNNs, neural-complexity and PyTorch's word_language_model, from its description.

An embedding, recurrent layers of PyTorch, a linear decoder, and dropout before and after the layers. It is pickled as
those programs pickle theirs, as `model.RNNModel`; `in_its_module` makes that name known while it is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn


class RNNModel(nn.Module):
    """Scores of the next word, (T, B, V)."""

    def __init__(
        self, rnn_type: str, words: int, embedding: int, hidden: int, layers: int, dropout: float, tied: bool
    ) -> None:
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(words, embedding)
        name, _, nonlinearity = rnn_type.partition("_")
        more: dict[str, Any] = {"nonlinearity": nonlinearity.lower()} if nonlinearity else {}
        self.rnn = getattr(nn, name)(embedding, hidden, layers, dropout=dropout, **more)
        self.decoder = nn.Linear(hidden, words)
        if tied:
            self.decoder.weight = self.encoder.weight
        self.rnn_type, self.nhid, self.nlayers = rnn_type, hidden, layers

    def forward(self, ids_TB: Tensor) -> Tensor:
        """From a state of zeros."""
        outputs_TBH, _ = self.rnn(self.drop(self.encoder(ids_TB)))
        scores_TBV: Tensor = self.decoder(self.drop(outputs_TBH))
        return scores_TBV


RNNModel.__module__ = "model"


@contextmanager
def in_its_module(*classes: type) -> Iterator[None]:
    """While a model is pickled, its class is found under the name that the programs have for it."""
    before = dict(sys.modules)
    try:
        for each in classes or (RNNModel,):
            module = sys.modules[each.__module__] = ModuleType(each.__module__)
            setattr(module, each.__name__, each)
        yield
    finally:
        for each in classes or (RNNModel,):
            sys.modules.pop(each.__module__)
            if each.__module__ in before:
                sys.modules[each.__module__] = before[each.__module__]


@torch.no_grad()
def log_probabilities(model: RNNModel, ids: Sequence[int]) -> list[float]:
    """Of each word but the first, in nats, as neural-complexity has them of a sentence between two `<eos>`."""
    model.eval()
    scores_TBV = model(torch.tensor(ids[:-1])[:, None])
    log_p_TV = scores_TBV[:, 0].double().log_softmax(1)
    return [float(log_p_V[number]) for log_p_V, number in zip(log_p_TV, ids[1:], strict=True)]
