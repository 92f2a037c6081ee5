"""The translation model as plain PyTorch would have it: step by step, one logit for each word of each step.

`nn.GRU` reads the source; the decoder goes word by word through `nn.GRUCell`, attention, deep output, logits and
cross-entropy. A beam is searched one sentence at a time. It is what `benchmarks.translation` compares with.

Shapes: B sentences, S source positions, T target positions, V words, K beam.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from wordtie.models.seq2seq import Seq2Seq


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

    @classmethod
    def like(cls, model: Seq2Seq) -> NaiveTranslation:
        """With the parameters of an untied model of ours, and its word dropout everywhere."""
        settings = model.settings
        made = cls(model.words, settings.embedding, settings.hidden, settings.word_dropout)
        ours = {name: parameter.detach() for name, parameter in model.named_parameters()}

        def gru(prefix: str, end: str) -> dict[str, Tensor]:
            bias = torch.cat([torch.zeros(2 * settings.hidden), ours[f"{prefix}.recurrent_bias"]])
            parts = (ours[f"{prefix}.input_weight"], ours[f"{prefix}.recurrent_weight"], ours[f"{prefix}.bias"], bias)
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            return {f"{name}{end}": part for name, part in zip(names, parts, strict=True)}

        made.encoder.load_state_dict(gru("forwards", "_l0") | gru("backwards", "_l0_reverse"))
        made.first.load_state_dict(gru("decoder.first", ""))
        made.second.load_state_dict(gru("decoder.second", ""))
        rest = {
            "source_words.weight": "source_embedding.weight", "target_words.weight": "embedding.weight",
            "initial.weight": "initial.weight", "initial.bias": "initial.bias",
            "key.weight": "decoder.attention.key_weight", "key.bias": "decoder.attention.key_bias",
            "asked.weight": "decoder.attention.query_weight", "deep.weight": "readout.weight",
            "deep.bias": "readout.bias", "output.weight": "head.weight", "output.bias": "head.bias",
        }  # fmt: skip
        state = {name: ours[our_name] for name, our_name in rest.items()}
        state["scorer.weight"] = ours["decoder.attention.score"][None]
        made.load_state_dict({**made.state_dict(), **state})
        return made

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
        """The best translation of one sentence, by log p over its length; `source_S` ends with `<eos>`."""
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
            if length == longest:
                log_p_KV[:, :eos] = log_p_KV[:, eos + 1 :] = -torch.inf
            best, index = log_p_KV.flatten().topk(2 * beam)
            kept: list[tuple[float, list[int]]] = []
            rows: list[int] = []
            for rank, (score, place) in enumerate(zip(best.tolist(), index.tolist(), strict=True)):
                parent, word = divmod(place, log_p_KV.shape[1])
                if score == -math.inf:
                    break
                if word == eos:
                    if rank < beam and len(finished) < beam:
                        finished.append((score / length, alive[parent][1]))
                elif len(kept) < beam:
                    kept.append((score, [*alive[parent][1], word]))
                    rows.append(parent)
            if len(finished) >= beam or not kept:
                break
            alive = kept
            words = torch.tensor([ids[-1] for _, ids in kept])
            hidden = hidden[rows]
        return max(finished)[1]
