"""Beam search of a translation model, over many sentences at once (Sutskever, Vinyals & Le 2014, section 3.2).

Each step extends the `beam` best unfinished translations of every sentence by one word. An extension by `<eos>` that is
among the `beam` best is finished. A sentence is done when `beam` translations of it are finished; sentences that are
done leave the batch. Finished translations are compared by log p / length^power, so that short ones are not preferred
(Wu et al. 2016 divide by a power, too); `power` 0 compares log p. A beam of 1 is greedy.

Shapes: n sentences, k beam, S source positions, T words so far, V words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordtie.data.pair_batches import by_length, pad
from wordtie.errors import require
from wordtie.kernels.best_words import best_words
from wordtie.models.fp32 import in_fp32
from wordtie.models.seq2seq import Seq2Seq
from wordtie.nn.conditional_gru import Source

ROWS = 320
"""Translations that are extended in one step: sentences times beam."""
POSITIONS = 256 * ROWS
"""Of the sources that these attend to, which bounds the memory that long lines take."""
LARGEST_POWER = 10.0


@dataclass(frozen=True)
class Search:
    """How translations are searched for."""

    beam: int = 5
    power: float = 1.0
    """Of the length that log p is divided by."""
    max_length: int | None = None
    """Words of a translation with its `<eos>`; None: twice the source's and 10 more."""
    attention: bool = False
    """Whether each translation has its attention weights."""

    def __post_init__(self) -> None:
        require(self.beam >= 1, f"the beam must be at least 1, got {self.beam}")
        require(
            0 <= self.power <= LARGEST_POWER,
            f"the power of the length must be in [0, {LARGEST_POWER:g}], got {self.power:g}",
        )
        require(self.max_length is None or self.max_length >= 1, f"max_length must be >= 1, got {self.max_length}")

    def longest(self, source: int) -> int:
        """Words of a translation at most, of a source of so many."""
        return self.max_length or 2 * source + 10


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation."""

    ids: list[int]
    """Without `<eos>`."""
    log_p: float
    """Of its words and `<eos>`, in nats."""
    score: float
    """What translations of a sentence are compared by."""
    attention_TS: NDArray[np.float32] | None = None
    """How much each word, `<eos>` last, came from each source position, `<eos>` last."""


NONE = Hypothesis([], -math.inf, -math.inf)
"""Of a model that has diverged: no word of its has a finite score."""


def translate_ids(
    model: Seq2Seq, sentences: Sequence[Sequence[int]], source_eos: int, target_eos: int, search: Search
) -> list[list[Hypothesis]]:
    """The finished translations of each sentence, best first; in the order of the sentences.

    A sentence without words has the empty translation. What is beside a sentence in its batch changes nothing but
    rounding.
    """
    found: list[list[Hypothesis]] = [[Hypothesis([], 0.0, 0.0)] for _ in sentences]
    there = [number for number, each in enumerate(sentences) if each]
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad(), in_fp32(model.device):
            given = [sentences[number] for number in there]
            for batch in by_length(given, max(1, ROWS // search.beam), POSITIONS // search.beam):
                numbers = [there[place] for place in batch]
                ids_SB, lengths_B = pad([[*sentences[number], source_eos] for number in numbers], source_eos)
                lengths = torch.from_numpy(lengths_B).to(model.device)
                source = model.encode(torch.from_numpy(ids_SB).to(model.device), lengths)
                longest = [search.longest(len(sentences[number])) for number in numbers]
                for number, finished in zip(
                    numbers, _Beams(model, source, longest, target_eos, search).run(), strict=True
                ):
                    found[number] = sorted(finished, key=lambda each: -each.score)[: search.beam] or [NONE]
    finally:
        model.train(was_training)
    return found


class _Beams:
    """The unfinished translations of the sentences that are left, and the finished ones of all."""

    def __init__(self, model: Seq2Seq, source: Source, longest: list[int], eos_id: int, search: Search) -> None:
        count, device = len(longest), model.device
        self.model, self.search, self.eos_id, self.longest = model, search, eos_id, longest
        self.finished: list[list[Hypothesis]] = [[] for _ in longest]
        self.lengths = source.present_BS.sum(1).tolist()
        self.left = list(range(count))
        """Which sentence each group of rows is of."""
        self.source = source
        self.hidden = source.initial_BH
        self.log_p = source.initial_BH.new_zeros(count, 1)
        """Of the unfinished translations: one of each sentence, without words; after a step, the `beam` best."""
        self.words = torch.full((count, 1, 0), eos_id, dtype=torch.int64, device=device)
        self.weights: list[Tensor] = []
        self.scores = self.hidden.new_empty(0, model.words)

    def run(self) -> list[list[Hypothesis]]:
        """Extend until all sentences are done."""
        last = torch.full((len(self.hidden),), self.eos_id, dtype=torch.int64, device=self.hidden.device)
        while self.left:
            self.extend(last)
            self.drop_done()
            last = self.words[:, :, -1].flatten()
        return self.finished

    def extend(self, last: Tensor) -> None:
        """One more word for each translation."""
        (count, going), beam = self.log_p.shape, self.search.beam
        query_BE, weights_BS, hidden = self.model.step(last, self.hidden, self.source)
        length = self.words.shape[2] + 1
        ends_B = torch.tensor([length >= self.longest[number] for number in self.left]).repeat_interleave(going)
        extended_BK, chosen_BK = self.extensions(query_BE, ends_B.to(query_BE.device))
        total_nkK = extended_BK.view(count, going, -1) + self.log_p[:, :, None]
        best, index = total_nkK.flatten(1).topk(min(2 * beam, total_nkK[0].numel()), dim=1)
        parents, chosen = index // extended_BK.shape[1], chosen_BK.view(count, -1).gather(1, index)
        attended = [*self.weights, weights_BS.view(count, going, -1)] if self.search.attention else []
        self.finish(best, parents, chosen, attended)
        best = best.masked_fill(chosen == self.eos_id, -torch.inf)
        self.log_p, kept = best.topk(min(beam, best.shape[1]), dim=1)
        parents, chosen = parents.gather(1, kept), chosen.gather(1, kept)
        rows = (torch.arange(count, device=parents.device)[:, None] * going + parents).flatten()
        self.hidden = hidden[rows]
        before = self.words.gather(1, parents[:, :, None].expand(-1, -1, length - 1))
        self.words = torch.cat([before, chosen[:, :, None]], 2)
        self.weights = [each.flatten(0, 1)[rows].view(count, kept.shape[1], -1) for each in attended]

    def extensions(self, query_BE: Tensor, ends_B: Tensor) -> tuple[Tensor, Tensor]:
        """(log p, words) of the best next words of each translation, (B, 2 k): no more of them are among the 2 k best
        of its sentence. Where `ends_B`, nothing but the end may come.

        The memory of the scores is used again at each step.
        """
        if len(query_BE) > len(self.scores):
            self.scores = query_BE.new_empty(len(query_BE), self.model.words)
        bias_V = self.model.head.bias
        logits_BV = torch.mm(query_BE, self.model.output_matrix.T, out=self.scores[: len(query_BE)])
        eos_B = logits_BV[:, self.eos_id] + (0 if bias_V is None else bias_V[self.eos_id])
        extended_BK, chosen_BK, normaliser_B1 = best_words(logits_BV, bias_V, 2 * self.search.beam)
        if ends_B.any():
            extended_BK[ends_B] = -torch.inf
            extended_BK[ends_B, 0], chosen_BK[ends_B, 0] = (eos_B - normaliser_B1[:, 0])[ends_B], self.eos_id
        return extended_BK, chosen_BK

    def finish(self, best: Tensor, parents: Tensor, chosen: Tensor, attended: Sequence[Tensor]) -> None:
        """Keep the translations that end with this step."""
        beam, length = self.search.beam, self.words.shape[2] + 1
        ends = (chosen[:, :beam] == self.eos_id) & best[:, :beam].isfinite()
        for group, rank in ends.nonzero().tolist():
            number, parent = self.left[group], int(parents[group, rank])
            if len(self.finished[number]) < beam:
                log_p = float(best[group, rank])
                weights = None
                if attended:
                    weights = torch.stack([each[group, parent] for each in attended])[:, : self.lengths[number]]
                self.finished[number].append(
                    Hypothesis(
                        self.words[group, parent].tolist(), log_p, log_p / length**self.search.power,
                        None if weights is None else weights.cpu().numpy(),
                    )
                )  # fmt: skip

    def drop_done(self) -> None:
        """Go on with the sentences that are not done."""
        beam, (_, each), alive = self.search.beam, self.log_p.shape, self.log_p.isfinite().any(1).tolist()
        going = [group for group, number in enumerate(self.left) if alive[group] and len(self.finished[number]) < beam]
        if len(going) == len(self.left):
            return
        groups = torch.tensor(going, dtype=torch.int64, device=self.hidden.device)
        rows = (groups[:, None] * each + torch.arange(each, device=groups.device)).flatten()
        self.left = [self.left[group] for group in going]
        self.source, self.hidden = self.source.select(groups), self.hidden[rows]
        self.log_p, self.words = self.log_p[groups], self.words[groups]
        self.weights = [each[groups] for each in self.weights]
