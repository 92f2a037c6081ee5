"""How often a word is replaced, and by which words: gamma_i and the proposal distribution.

Xie et al. (2017), as table 1 of Kong et al. (2019) sums them up, for a word i of the training text:

    kind                    gamma_i                               proposal T
    blank                   gamma                                 the blank word alone
    linear_interpolation    gamma                                 count(v) / sum of counts
    absolute_discounting    gamma * distinct(i, .) / count(i)     count(v) / sum of counts
    kneser_ney              gamma * distinct(i, .) / count(i)     distinct(., v) / sum of them

A word that the training text lacks is never replaced where gamma_i needs its count. The blank is `<unk>`, which
represents any word anyway. Words are drawn from an alias table (Walker 1977): one random number and one
comparison per draw, whatever the size of the vocabulary.

Shapes: V words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordtie.config import NoiseSettings
from wordtie.errors import DataError
from wordtie.kernels.alias_table import alias_table
from wordtie.ngrams.counts import NeighbourCounts

CELL_BITS = 24
"""Number of bits of a draw that choose between the two words of a cell of the alias table."""


@dataclass(frozen=True)
class Proposal:
    """gamma_i of every word, and the distribution that replacements are drawn from. Random numbers are PyTorch's."""

    gamma_V: Tensor
    """Share of the occurrences of each word that is replaced, (V,) float64."""
    share_V: Tensor
    """Probability of each word as a replacement, (V,) float64; sums to one. The replaced word itself may be drawn."""
    threshold_V: Tensor
    """The alias table, (V,) int64: how much of 2 ** CELL_BITS each cell leaves to its own word ..."""
    alias_V: Tensor
    """... and the word that has the rest, (V,) int64."""

    @classmethod
    def from_weights(cls, gamma_V: NDArray[np.float64], weight_V: NDArray[np.float64]) -> Proposal:
        """Build a proposal from rates, and weights in any unit. Raises `DataError` if no word has a weight."""
        total = float(weight_V.sum())
        if not total > 0:
            raise DataError("the training text is too short to draw replacements from: it has no two words in a row")
        share_V = weight_V / total
        own_V, alias_V = alias_table(share_V * len(share_V))
        threshold_V = np.rint(own_V * (1 << CELL_BITS)).astype(np.int64)
        return cls(*(torch.from_numpy(np.asarray(each)) for each in (gamma_V, share_V, threshold_V, alias_V)))

    def to(self, device: torch.device) -> Proposal:
        """Return the same tables on another device."""
        tables = (self.gamma_V, self.share_V, self.threshold_V, self.alias_V)
        return Proposal(*(table.to(device) for table in tables))

    def draw(self, like: Tensor) -> Tensor:
        """Draw word ids from the proposal, independently of one another, in the shape of `like`."""
        words = len(self.alias_V)
        # from a range below 2 ** 32 torch draws 32 bits and takes an uneven remainder
        spare = 8 if words << CELL_BITS < 1 << 32 else 0
        draws = torch.randint(words << (CELL_BITS + spare), (like.numel(),), device=like.device) >> spare
        cell = draws >> CELL_BITS
        own = (draws & ((1 << CELL_BITS) - 1)) < self.threshold_V.index_select(0, cell)
        return torch.where(own, cell, self.alias_V.index_select(0, cell)).view(like.shape)

    def replace(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Return (ids with each replaced at its gamma_i, which ones were), independently of one another."""
        chance = torch.rand(words.shape, device=words.device)
        replaced = chance < self.gamma_V[words].to(chance.dtype)
        return torch.where(replaced, self.draw(words), words), replaced


def build_proposal(settings: NoiseSettings, counts: NeighbourCounts, blank_id: int) -> Proposal:
    """Build the proposal that the settings ask for. Raises `DataError` if the text is too short."""
    words = len(counts.count)
    gamma_V = np.full(words, settings.gamma)
    if settings.kind in ("absolute_discounting", "kneser_ney"):
        gamma_V *= counts.distinct_right / np.maximum(counts.count, 1)
    if settings.kind == "blank":
        weight_V = np.zeros(words)
        weight_V[blank_id] = 1.0
    else:
        weight_V = (counts.distinct_left if settings.kind == "kneser_ney" else counts.count).astype(np.float64)
    return Proposal.from_weights(gamma_V, weight_V)
