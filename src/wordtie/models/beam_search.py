"""Beam search of a translation model, over many sentences at once (Sutskever, Vinyals & Le 2014, section 3.2).

Each step extends the `beam` best unfinished translations of every sentence by one word. An extension by `<eos>` that is
among the `beam` best is finished. A sentence is done when `beam` translations of it are finished; sentences that are
done leave the batch, and others take their place. Finished translations are compared by log p / length^power, so that
short ones are not preferred (Wu et al. 2016 divide by a power, too); `power` 0 compares log p. A beam of 1 is greedy.

Shapes: n sentences, k beam, S source positions, T words so far, V words, A annotation or key, H units, K candidates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad as fill_up

from wordtie.data.pair_batches import by_length, pad
from wordtie.errors import require
from wordtie.kernels.best_words import best_words
from wordtie.models.fp32 import in_fp32
from wordtie.models.seq2seq import Seq2Seq
from wordtie.nn.conditional_gru import Source

ROWS = 320
"""Translations that are extended in one step: sentences times beam."""
POSITIONS = 256 * ROWS
"""Source positions that these attend to in one step, which bounds the memory that long lines take."""
GROWTH = 16
"""Words by which the room for translations grows."""
LARGEST_POWER = 10.0


@dataclass(frozen=True)
class Search:
    """Settings of the search for translations."""

    beam: int = 5
    power: float = 1.0
    """Exponent of the length by which log p is divided."""
    max_length: int | None = None
    """Maximum words of a translation, with its `<eos>`; None: twice the source's words plus 10."""
    attention: bool = False
    """Whether each translation includes its attention weights."""

    def __post_init__(self) -> None:
        require(self.beam >= 1, f"the beam must be at least 1, got {self.beam}")
        require(
            0 <= self.power <= LARGEST_POWER,
            f"the power of the length must be in [0, {LARGEST_POWER:g}], got {self.power:g}",
        )
        require(self.max_length is None or self.max_length >= 1, f"max_length must be >= 1, got {self.max_length}")

    def longest(self, source: int) -> int:
        """Return the maximum words of a translation of a source with this number of words."""
        return self.max_length or 2 * source + 10


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation."""

    ids: list[int]
    """Ids of its words, without `<eos>`."""
    log_p: float
    """Log-probability of its words and `<eos>`, in nats."""
    score: float
    """Score by which translations of a sentence are compared: log p / length^power."""
    attention_TS: NDArray[np.float32] | None = None
    """Attention of each word, `<eos>` last, to each source position, `<eos>` last."""


NONE = Hypothesis([], -math.inf, -math.inf)
"""Translation by a model that has diverged: none of its words has a finite score."""


def translate_ids(
    model: Seq2Seq, sentences: Sequence[Sequence[int]], source_eos: int, target_eos: int, search: Search
) -> list[list[Hypothesis]]:
    """Return the finished translations of each sentence, best first; in the order of the sentences.

    A sentence without words has the empty translation. The other sentences in a batch change nothing but
    rounding.
    """
    nothing = np.ones((1, 1), np.float32) if search.attention else None  # <eos> attends to <eos>
    found: list[list[Hypothesis]] = [[Hypothesis([], 0.0, 0.0, nothing)] for _ in sentences]
    there = [number for number, each in enumerate(sentences) if each]
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad(), in_fp32(model.device):
            given = [[*sentences[number], source_eos] for number in there]
            finished = _Beams(model, search, given, source_eos, target_eos).run()
    finally:
        model.train(was_training)
    for number, some in zip(there, finished, strict=True):
        found[number] = sorted(some, key=lambda each: -each.score)[: search.beam] or [NONE]
    return found


@dataclass(frozen=True)
class _Unfinished:
    """The unfinished translations of n sentences, k of each."""

    numbers: list[int]
    """Indices of the sentences."""
    longest: list[int]
    """Maximum words of each translation, with `<eos>`."""
    written: list[int]
    """Words so far."""
    source: Source
    hidden: Tensor
    """(n k, H)"""
    log_p: Tensor
    """(n, k)"""
    words: Tensor
    """(n, k, T); values beyond the words so far are undefined."""
    weights: Tensor | None = None
    """Attention of each word, (n, k, T, S), if it was asked for."""

    def select(self, groups: Sequence[int]) -> _Unfinished:
        """Return the translations of these sentences."""
        chosen = torch.tensor(groups, dtype=torch.int64, device=self.words.device)
        numbers, longest, written = ([each[n] for n in groups] for each in (self.numbers, self.longest, self.written))
        hidden, source = self.hidden.view(*self.log_p.shape, -1)[chosen].flatten(0, 1), self.source.select(chosen)
        weights = None if self.weights is None else self.weights[chosen, ..., : source.positions]
        return _Unfinished(numbers, longest, written, source, hidden, self.log_p[chosen], self.words[chosen], weights)

    def beside(self, other: _Unfinished) -> _Unfinished:
        """Return the translations of both, which have the same k."""
        steps = max(self.words.shape[2], other.words.shape[2])
        source = self.source.beside(other.source)
        words, weights = [], []
        for each in (self, other):
            more = steps - each.words.shape[2]
            words.append(fill_up(each.words, (0, more)))
            if each.weights is not None:
                weights.append(fill_up(each.weights, (0, source.positions - each.weights.shape[3], 0, more)))
        return _Unfinished(
            self.numbers + other.numbers, self.longest + other.longest, self.written + other.written, source,
            torch.cat([self.hidden, other.hidden]), torch.cat([self.log_p, other.log_p]), torch.cat(words),
            torch.cat(weights) if weights else None,
        )  # fmt: skip


class _Beams:
    """Search for the translations of sentences, each with its `<eos>`: the longest first, some at a time."""

    def __init__(
        self, model: Seq2Seq, search: Search, sentences: Sequence[Sequence[int]], source_eos: int, target_eos: int
    ) -> None:
        self.model, self.search, self.sentences = model, search, sentences
        self.source_eos, self.eos_id = source_eos, target_eos
        self.finished: list[list[Hypothesis]] = [[] for _ in sentences]
        self.scores = torch.empty(0, model.words)

    def run(self) -> list[list[Hypothesis]]:
        """Return the finished translations of each sentence. Half of the sentences that fit start at a time: once as
        many are done, the next take their place, so that a step has many rows although lengths differ."""
        beam = self.search.beam
        most, positions = max(1, ROWS // beam), POSITIONS // beam
        going: _Unfinished | None = None
        for batch in by_length(self.sentences, max(1, most // 2), positions // 2):
            while going is not None and not self.has_room(going, batch, most, positions):
                going = self.extended(going)
            begun = self.begun(batch)
            going = begun if going is None or begun is None else going.beside(begun)
        while going is not None:
            going = self.extended(going)
        return self.finished

    def has_room(self, going: _Unfinished, batch: Sequence[int], most: int, positions: int) -> bool:
        """Whether these sentences fit beside the unfinished ones."""
        together = len(going.numbers) + len(batch)
        longest = max(going.source.positions, len(self.sentences[batch[0]]))
        return together <= most and together * longest <= positions

    def begun(self, batch: Sequence[int]) -> _Unfinished | None:
        """Return the translations after their first word, for which each sentence has one row."""
        device, count = self.model.device, len(batch)
        ids_SB, lengths_B = pad([self.sentences[number] for number in batch], self.source_eos)
        source = self.model.encode(*(torch.from_numpy(each).to(device) for each in (ids_SB, lengths_B)))
        longest = [self.search.longest(len(self.sentences[number]) - 1) for number in batch]
        words = torch.full((count, 1, 1), self.eos_id, dtype=torch.int64, device=device)
        weights = source.keys_BSA.new_zeros(count, 1, 0, ids_SB.shape[0]) if self.search.attention else None
        log_p, none = source.initial_BH.new_zeros(count, 1), [0] * count
        return self.extended(
            _Unfinished(list(batch), longest, none, source, source.initial_BH, log_p, words[:, :, :0], weights), words
        )

    def extended(self, going: _Unfinished, last: Tensor | None = None) -> _Unfinished | None:
        """Extend each translation by one word; return those of sentences that are not done, None if all are.

        `last` is the word before, (n, k, 1), if nothing is written yet.
        """
        (count, each), beam = going.log_p.shape, self.search.beam
        place = torch.tensor(going.written, device=going.words.device)[:, None, None]
        if last is None:
            last = going.words.gather(2, (place - 1).expand(-1, each, -1))
        query_BE, weights_BS, hidden_BH = self.model.step(last.flatten(), going.hidden, going.source)
        ends = [written + 1 >= longest for written, longest in zip(going.written, going.longest, strict=True)]
        extended_BK, chosen_BK = self.extensions(query_BE, torch.tensor(ends).repeat_interleave(each))
        total = extended_BK.view(count, each, -1) + going.log_p[:, :, None]
        best, index = total.flatten(1).topk(min(2 * beam, total[0].numel()), dim=1)
        parents, chosen = index // extended_BK.shape[1], chosen_BK.view(count, -1).gather(1, index)
        attended = weights_BS.view(count, each, -1)
        self.finish(going, best, parents, chosen, attended)
        best = best.masked_fill(chosen == self.eos_id, -torch.inf)
        log_p, kept = best.topk(min(beam, best.shape[1]), dim=1)
        lacking = (0, beam - kept.shape[1])
        log_p, kept = fill_up(log_p, lacking, value=-torch.inf), fill_up(kept, lacking)
        parents, chosen = parents.gather(1, kept), chosen.gather(1, kept)
        after = replace(
            going,
            written=[written + 1 for written in going.written],
            hidden=hidden_BH[(torch.arange(count, device=parents.device)[:, None] * each + parents).flatten()],
            log_p=log_p,
            words=_written(going.words, parents, place, chosen[:, :, None]),
            weights=None if going.weights is None else _written(
                going.weights, parents, place[..., None], attended.take_along_dim(parents[:, :, None], 1)[:, :, None]
            ),
        )  # fmt: skip
        return self.left(after)

    def extensions(self, query_BE: Tensor, ends_B: Tensor) -> tuple[Tensor, Tensor]:
        """Return (log p, words) of each translation's best next words, (B, 2 k): no more of them can be among the 2 k
        best of its sentence. Where `ends_B`, only `<eos>` may follow.

        The memory of the scores is reused at each step.
        """
        if len(query_BE) > len(self.scores):
            self.scores = query_BE.new_empty(len(query_BE), self.model.words)
        bias_V = self.model.head.bias
        logits_BV = torch.mm(query_BE, self.model.output_matrix.T, out=self.scores[: len(query_BE)])
        eos_B = logits_BV[:, self.eos_id] + (0 if bias_V is None else bias_V[self.eos_id])
        extended_BK, chosen_BK, normaliser_B1 = best_words(logits_BV, bias_V, 2 * self.search.beam)
        if ends_B.any():
            ends_B = ends_B.to(query_BE.device)
            extended_BK[ends_B] = -torch.inf
            extended_BK[ends_B, 0], chosen_BK[ends_B, 0] = (eos_B - normaliser_B1[:, 0])[ends_B], self.eos_id
        return extended_BK, chosen_BK

    def finish(self, going: _Unfinished, best: Tensor, parents: Tensor, chosen: Tensor, attended: Tensor) -> None:
        """Keep the translations that end with this step; `attended` are the weights of the step, (n, k, S)."""
        beam = self.search.beam
        ends = (chosen[:, :beam] == self.eos_id) & best[:, :beam].isfinite()
        for group, rank in ends.nonzero().tolist():
            number, parent, written = going.numbers[group], int(parents[group, rank]), going.written[group]
            if len(self.finished[number]) < beam:
                log_p, weights = float(best[group, rank]), None
                if going.weights is not None:
                    rows = torch.cat([going.weights[group, parent, :written], attended[group, parent][None]])
                    weights = rows[:, : len(self.sentences[number])].cpu().numpy()
                ids, score = going.words[group, parent, :written].tolist(), log_p / (written + 1) ** self.search.power
                self.finished[number].append(Hypothesis(ids, log_p, score, weights))

    def left(self, going: _Unfinished) -> _Unfinished | None:
        """Return the sentences that are not done; None if all are."""
        alive = going.log_p.isfinite().any(1).tolist()
        groups = [
            group for group, number in enumerate(going.numbers)
            if alive[group] and len(self.finished[number]) < self.search.beam
        ]  # fmt: skip
        if not groups:
            return None
        return going if len(groups) == len(going.numbers) else going.select(groups)


def _written(before: Tensor, parents: Tensor, place: Tensor, new: Tensor) -> Tensor:
    """Return the words of each parent, (n, k, T) or (n, k, T, S), with `new` (n, k, 1, ...) at the sentence's place."""
    if int(place.max()) >= before.shape[2]:
        before = fill_up(before, (0, 0) * (before.dim() - 3) + (0, GROWTH))
    kept = before.take_along_dim(parents.view(*parents.shape, *[1] * (before.dim() - 2)), 1)
    return kept.scatter_(2, place.expand_as(new), new)
