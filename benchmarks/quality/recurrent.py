"""What the two LSTM recipes share: streams of text with the state carried over, and scoring.

Shapes: T steps, B streams, N tokens, V words, H units.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias

import torch
from torch import Tensor, nn

from benchmarks.quality.recipe import Batch, Ids, Recipe, log_p_of, side_by_side

State: TypeAlias = list[tuple[Tensor, Tensor]]
"""(h, c) of each layer, (1, B, H) each."""
STEPS_AT_ONCE = 1000
"""Of a text that is scored as one stream."""


class RecurrentModel(nn.Module):
    """A stack of LSTM layers between a word matrix and itself."""

    def __init__(self, words: int, sizes: list[int]) -> None:
        """`sizes`: of the word vectors, then of each layer; the last is that of the word vectors again."""
        super().__init__()
        self.embedding = nn.Embedding(words, sizes[0])
        self.layers = nn.ModuleList(nn.LSTM(inputs, units) for inputs, units in pairwise(sizes))
        self.bias = nn.Parameter(torch.zeros(words))
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)

    def hidden(self, inputs_TB: Tensor, state: State | None) -> tuple[Tensor, State]:
        """(h of the last layer, (T, B, H), the state after it), without dropout."""
        output, after = self.embedding(inputs_TB), []
        for number, layer in enumerate(self.layers):
            output, new = layer(output, None if state is None else state[number])
            after.append(new)
        return output, after


class RecurrentRecipe(Recipe):
    """Contiguous streams of text, with truncated back-propagation."""

    model: RecurrentModel

    def __init__(self, eos_id: int, streams: int) -> None:
        self.eos_id, self.streams = eos_id, streams
        self.state: State | None = None

    @abstractmethod
    def steps(self) -> int:
        """Of the next window."""

    def batches(self, ids: Ids) -> Iterator[Batch]:
        """Windows of all streams; at the end of the text the state is forgotten."""
        inputs_LB, targets_LB = side_by_side(ids, max(1, min(self.streams, len(ids) // 2)), self.eos_id)
        while True:
            first = 0
            while first < len(inputs_LB):
                here = slice(first, first + self.steps())
                yield Batch(inputs_LB[here], targets_LB[here], first == 0)
                first = here.stop

    def carried(self, batch: Batch) -> State | None:
        """The state before a window, of which no gradient is taken."""
        if batch.first or self.state is None:
            return None
        return [(h.detach(), c.detach()) for h, c in self.state]

    def log_p(self, ids: Ids, streams: int = 1) -> Tensor:
        """One stream drops no token, and each is predicted with the whole text before it."""
        self.model.eval()
        state: State | None = None
        found = []
        inputs_LB, targets_LB = side_by_side(ids, streams, self.eos_id)
        with torch.no_grad():
            for inputs_TB, targets_TB in zip(
                inputs_LB.split(STEPS_AT_ONCE), targets_LB.split(STEPS_AT_ONCE), strict=True
            ):
                hidden, state = self.model.hidden(inputs_TB, state)
                matrix, bias = self.model.embedding.weight, self.model.bias
                found.append(log_p_of(hidden.flatten(0, 1), targets_TB.flatten(), matrix, bias))
        self.model.train()
        return torch.cat(found)
