"""The conditional GRU: a decoder step that attends between two recurrent updates (Sennrich et al. 2017, section 3).

    h' = GRU_1(y_{t-1}, h_{t-1})        the state that the source is searched with
    c  = attention(h', annotations)
    h_t = GRU_2(c, h')

Both updates are `wordtie.nn.gru.GRULayer`, whose reset gate comes after the recurrent product. Given the words, GRU_1's
input products do not depend on the state: they are computed for all steps at once. `wordtie.kernels.decoder` has the
fast twin of `forward`.

Shapes: T steps, B sentences, S source positions, E word vector, H units, D annotation, A units of attention.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from wordtie.nn.attention import AdditiveAttention
from wordtie.nn.gru import GRULayer
from wordtie.nn.masks import LayerMasks

NOTHING_DROPPED = LayerMasks()


@dataclass(frozen=True)
class Source:
    """The encoder's view of B sentences: what a decoder attends to."""

    annotations_BSD: Tensor
    keys_BSA: Tensor
    """Keys that attention compares the decoder's state with."""
    present_BS: Tensor
    """False where a sentence is padded."""
    initial_BH: Tensor
    """The decoder's first state."""

    @property
    def positions(self) -> int:
        """Number of source positions, S."""
        return self.present_BS.shape[1]

    def select(self, sentences: Tensor) -> Source:
        """Return these sentences, in this order; one may be taken several times. S is that of the longest."""
        present_BS = self.present_BS[sentences]
        most = int(present_BS.sum(1).max()) if len(present_BS) else 0
        annotations_BSD, keys_BSA = (part[sentences, :most] for part in (self.annotations_BSD, self.keys_BSA))
        return Source(annotations_BSD, keys_BSA, present_BS[:, :most], self.initial_BH[sentences])

    def beside(self, other: Source) -> Source:
        """Return the sentences of both; S is that of the longest."""
        parts = []
        for one, two in zip(vars(self).values(), vars(other).values(), strict=True):
            most, padded = max(one.shape[1], two.shape[1]), [one, two]
            if one is not self.initial_BH:
                sides = (0, 0) * (one.dim() - 2)
                padded = [nn.functional.pad(each, (*sides, 0, most - each.shape[1])) for each in padded]
            parts.append(torch.cat(padded))
        return Source(*parts)


class ConditionalGRU(nn.Module):
    """`decoder(vectors_TBE, source) -> (hidden_TBH, contexts_TBD, weights_TBS)`, from the source's first state on."""

    def __init__(self, size: int, hidden: int, annotation: int, units: int) -> None:
        super().__init__()
        self.first = GRULayer(size, hidden)
        self.attention = AdditiveAttention(annotation, hidden, units)
        self.second = GRULayer(annotation, hidden)

    def step(self, vectors_BE: Tensor, hidden_BH: Tensor, source: Source) -> tuple[Tensor, Tensor, Tensor]:
        """Decode one word: return (state (B, H), context (B, D), weights (B, S))."""
        _, (searching_BH,) = self.first(vectors_BE[None], (hidden_BH,), NOTHING_DROPPED)
        context_BD, weights_BS = self.attention(
            searching_BH, source.keys_BSA, source.annotations_BSD, source.present_BS
        )
        _, (hidden_BH,) = self.second(context_BD[None], (searching_BH,), NOTHING_DROPPED)
        return hidden_BH, context_BD, weights_BS

    def forward(self, vectors_TBE: Tensor, source: Source) -> tuple[Tensor, Tensor, Tensor]:
        """Decode all steps, with words that are known."""
        hidden_BH, found = source.initial_BH, []
        for vectors_BE in vectors_TBE:
            hidden_BH, context_BD, weights_BS = self.step(vectors_BE, hidden_BH, source)
            found.append((hidden_BH, context_BD, weights_BS))
        hidden_TBH, contexts_TBD, weights_TBS = (torch.stack(parts) for parts in zip(*found, strict=True))
        return hidden_TBH, contexts_TBD, weights_TBS
