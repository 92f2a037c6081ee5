"""The translation model as plain PyTorch would have it: step by step, one logit for each word of each step.

`nn.GRU` reads the source; the decoder goes word by word through `nn.GRUCell`, attention, deep output, logits and
cross-entropy. A beam is searched one sentence at a time. It is what `benchmarks.translation` compares with.

Shapes: B sentences, S source positions, T target positions, V words, K beam.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class NaiveTranslation(nn.Module):
    """Untied, with conditional GRU and deep output, of the sizes of `wordtie.models.seq2seq.Seq2Seq`."""

    def __init__(self, words: int, size: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.source_words, self.target_words = nn.Embedding(words, size), nn.Embedding(words, size)
        self.encoder = nn.GRU(size, hidden, bidirectional=True)
        self.initial = nn.Linear(2 * hidden, hidden)
        self.first, self.second = nn.GRUCell(size, hidden), nn.GRUCell(2 * hidden, hidden)
        self.key, self.asked = nn.Linear(2 * hidden, hidden), nn.Linear(hidden, hidden, bias=False)
        self.scorer = nn.Linear(hidden, 1, bias=False)
        self.deep, self.output = nn.Linear(3 * hidden + size, size), nn.Linear(size, words)
        self.dropout = nn.Dropout(dropout)

    def encode(self, source_SB: Tensor, lengths_B: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """(annotations (S, B, D), keys (S, B, H), what is there (S, B), first state (B, H))."""
        vectors = self.dropout(self.source_words(source_SB))
        packed, _ = self.encoder(pack_padded_sequence(vectors, lengths_B, enforce_sorted=False))
        annotations, _ = pad_packed_sequence(packed)
        annotations = self.dropout(annotations)
        there = torch.arange(len(annotations))[:, None] < lengths_B
        mean = (annotations * there[:, :, None]).sum(0) / lengths_B[:, None]
        return annotations, self.key(annotations), there, torch.tanh(self.initial(mean))

    def step(
        self, words_B: Tensor, hidden: Tensor, annotations: Tensor, keys: Tensor, there: Tensor
    ) -> tuple[Tensor, Tensor]:
        """(logits (B, V), state (B, H))."""
        vectors = self.dropout(self.target_words(words_B))
        hidden = self.first(vectors, hidden)
        scores = self.scorer(torch.tanh(keys + self.asked(hidden)))[:, :, 0].masked_fill(~there, -torch.inf)
        context = (scores.softmax(0)[:, :, None] * annotations).sum(0)
        hidden = self.second(context, hidden)
        deep = torch.tanh(self.deep(torch.cat([hidden, context, vectors], 1)))
        return self.output(self.dropout(deep)), hidden

    def loss(self, source_SB: Tensor, lengths_B: Tensor, inputs_TB: Tensor, targets_TB: Tensor, ignored: int) -> Tensor:
        """Summed nats of the targets that are not `ignored`."""
        annotations, keys, there, hidden = self.encode(source_SB, lengths_B)
        total = hidden.new_zeros(())
        for words, targets in zip(inputs_TB, targets_TB, strict=True):
            logits, hidden = self.step(words, hidden, annotations, keys, there)
            total = total + F.cross_entropy(logits, targets, ignore_index=ignored, reduction="sum")
        return total

    @torch.no_grad()
    def search(self, source_S: Tensor, beam: int, eos: int, longest: int) -> list[int]:
        """The best translation of one sentence, by log p over its length."""
        encoded = self.encode(source_S[:, None], torch.tensor([len(source_S)]))
        annotations, keys, there, hidden = (
            part.expand(-1, beam, *part.shape[2:]) if part.dim() > 1 and part.shape[0] == len(source_S) else part
            for part in encoded
        )
        hidden = encoded[3].expand(beam, -1)
        words = torch.full((beam,), eos)
        alive: list[tuple[float, list[int]]] = [(0.0, [])]
        finished: list[tuple[float, list[int]]] = []
        for length in range(1, longest + 1):
            logits, hidden = self.step(words, hidden, annotations, keys, there)
            log_p_KV = logits.log_softmax(1)[: len(alive)] + torch.tensor([[score] for score, _ in alive])
            best, index = log_p_KV.flatten().topk(2 * beam)
            kept: list[tuple[float, list[int]]] = []
            rows: list[int] = []
            for score, place in zip(best.tolist(), index.tolist(), strict=True):
                parent, word = divmod(place, log_p_KV.shape[1])
                if word == eos or length == longest:
                    finished.append((score / length, [*alive[parent][1], word]))
                elif len(kept) < beam:
                    kept.append((score, [*alive[parent][1], word]))
                    rows.append(parent)
            if len(finished) >= beam or not kept:
                break
            alive = kept
            words = torch.tensor([ids[-1] for _, ids in kept])
            hidden = hidden[rows]
        return max(finished)[1]
