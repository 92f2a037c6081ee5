"""What the training loop needs of a contender, and how its model scores a text.

Shapes: T steps, B streams, N tokens, V words, H units.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

Ids: TypeAlias = NDArray[np.integer[Any]]
Tensors: TypeAlias = dict[str, Tensor]

SCORES_AT_ONCE = 5_000_000
"""Scores (tokens x vocabulary) in memory at a time while a text is scored."""
DROPOUTS = ((1.2, 0.0), (2.5, 0.1), (5.0, 0.2), (9.0, 0.3), (16.0, 0.4), (math.inf, 0.5))
"""Up to how many readings of the text which dropout: that of `wordtie train --time` when the settings were searched."""
GROWTH = 0.3
"""Units grow with this power of the time, from two minutes on."""


@dataclass(frozen=True)
class Batch:
    """A window of training text."""

    inputs: Tensor
    targets: Tensor
    first: bool = False
    """The text starts here: no state is carried over."""


class Recipe(ABC):
    """A model and how it is trained. `share` is the part of the training time that is over, from 0 to 1."""

    model: nn.Module
    bias: nn.Parameter
    """Of the output, (V,)."""
    unigram_bias: bool
    """Start it at the log frequency of the words: it belongs to none of the recipes, and helps in little time."""

    @abstractmethod
    def set_dropout(self, dropout: float) -> None:
        """Take this dropout where the settings leave it to the plan."""

    @abstractmethod
    def batches(self, ids: Ids) -> Iterator[Batch]:
        """Windows of the text, over and over."""

    @abstractmethod
    def step(self, batch: Batch, share: float) -> None:
        """One update."""

    @abstractmethod
    def log_p(self, ids: Ids, streams: int = 1) -> Tensor:
        """Natural log p of each token, (N,), the first predicted from `<eos>`. With more than one stream, an estimate
        that is quicker."""

    def set_bias(self, ids: Ids) -> None:
        """What the output's bias starts at, if it is not zero."""
        count_V = np.bincount(np.asarray(ids), minlength=len(self.bias)) + 1.0
        if self.unigram_bias:
            with torch.no_grad():
                self.bias.copy_(torch.from_numpy(np.log(count_V / count_V.sum())))

    def parameters(self) -> Tensors:
        """Those to measure and to keep: the model's, or their average."""
        return dict(self.model.state_dict())

    def validated(self, nats: float, share: float) -> None:  # noqa: B027  (most recipes do not look)
        """Hear what a validation found, in nats a token."""


def planned_dropout(epochs: float) -> float:
    """The dropout for a text that is read so many times.

    >>> planned_dropout(0.7), planned_dropout(6.0)
    (0.0, 0.3)
    """
    return next(dropout for limit, dropout in DROPOUTS if epochs < limit)


def units_for(units: int, minutes: float, multiple: int = 32) -> int:
    """A setting of units is meant for two minutes; with more time a larger model is better.

    >>> units_for(192, 2.0), units_for(192, 10.0), units_for(192, 60.0)
    (192, 320, 544)
    """
    grown = units * max(1.0, minutes / 2) ** GROWTH
    return max(units, multiple * round(grown / multiple)) if minutes > 2 else units


def log_p_of(hidden_NH: Tensor, targets_N: Tensor, matrix_VH: Tensor, bias_V: Tensor | None) -> Tensor:
    """Log p of the targets, (N,), some tokens at a time."""
    rows = max(1, SCORES_AT_ONCE // len(matrix_VH))
    found = [
        -F.cross_entropy(F.linear(hidden, matrix_VH, bias_V), targets, reduction="none")
        for hidden, targets in zip(hidden_NH.split(rows), targets_N.split(rows), strict=True)
    ]
    return torch.cat(found).double()


def cosine(share: float, warmup: float, lowest: float = 0.0) -> float:
    """Factor of the rate: linear to 1 in the share `warmup`, then a half cosine to `lowest`.

    >>> [round(cosine(share, 0.1), 2) for share in (0.05, 0.1, 0.55, 1.0)]
    [0.5, 1.0, 0.5, 0.0]
    """
    if share < warmup:
        return share / warmup
    rest = min(1.0, (share - warmup) / (1 - warmup))
    return lowest + (1 - lowest) * 0.5 * (1 + math.cos(math.pi * rest))


def inputs_of(ids: Ids, eos_id: int) -> tuple[Tensor, Tensor]:
    """(inputs, targets) of a text, (N,) each: each word is predicted from the one before, the first from `<eos>`."""
    targets_N = torch.from_numpy(np.asarray(ids, np.int64))
    return torch.cat([torch.tensor([eos_id]), targets_N[:-1]]), targets_N


def side_by_side(ids: Ids, streams: int, eos_id: int) -> tuple[Tensor, Tensor]:
    """(inputs, targets) as streams of equal length, (L, B) each; the remainder is left out."""
    inputs_N, targets_N = inputs_of(ids, eos_id)
    length = len(targets_N) // streams
    return tuple(each[: length * streams].view(streams, length).T.contiguous() for each in (inputs_N, targets_N))  # type: ignore[return-value]


def only(settings: Sequence[str], given: dict[str, Any]) -> None:
    """Refuse settings that a recipe does not have."""
    if unknown := set(given) - set(settings):
        raise ValueError(f"no such settings: {', '.join(sorted(unknown))}")
