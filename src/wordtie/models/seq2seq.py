"""The translation model: encoder, attention, decoder, deep output, head (press-wolf-2017, section 4.3).

    source ids -> word vectors -> forward and backward GRU -> annotations
    target ids -> word vectors -> conditional GRU over the annotations -> deep output -> query -> scores of every word

The deep output (Pascanu et al. 2014) brings state, context and word vector down to the size of a word vector, so that
the output matrix can be the matrix that the decoder reads with (WT), or that the encoder reads with, too (TWWT). The
word matrix has one owner, `embedding`; head and encoder are handed it at call time.

A target is read behind a first `<eos>`, as a line of a language model is, and ends with `<eos>`.

Shapes: B sentences, S source positions, T target positions, N target words of all sentences, V words, E word vector, H
units, D = 2 H annotation, R readout.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from wordtie.config.translation import Seq2SeqSettings
from wordtie.heads.build import build_head
from wordtie.kernels.decoder import decoder_step, run_decoder
from wordtie.kernels.gru import run_gru
from wordtie.losses.loss import Scoring
from wordtie.models.trainable import TrainableModel
from wordtie.nn.conditional_gru import NOTHING_DROPPED, ConditionalGRU, Source
from wordtie.nn.dropout import mask
from wordtie.nn.embedding import WordMatrix
from wordtie.nn.gru import GRULayer


@dataclass(frozen=True)
class SentencePairs:
    """B sentence pairs side by side, padded at their ends with any id."""

    source_SB: Tensor
    source_lengths_B: Tensor
    inputs_TB: Tensor
    """`<eos>`, then the words of the target."""
    targets_TB: Tensor
    """The words of the target, then `<eos>`."""
    target_lengths_B: Tensor
    """Lengths of the targets, with `<eos>`."""

    @property
    def present_TB(self) -> Tensor:
        """False where a target is padded."""
        return positions(self.target_lengths_B, len(self.targets_TB)).T


def positions(lengths_B: Tensor, most: int) -> Tensor:
    """Return a mask (B, most) of the positions that each sentence has."""
    return torch.arange(most, device=lengths_B.device) < lengths_B[:, None]


class Seq2Seq(TrainableModel):
    """p(target sentence | source sentence)."""

    def __init__(self, settings: Seq2SeqSettings, source_words: int, target_words: int) -> None:
        """Raises `ValueError` if vocabularies of different sizes are to share one matrix."""
        super().__init__()
        if settings.tying == "three_way" and source_words != target_words:
            raise ValueError(f"three-way tying of {source_words} source words and {target_words} target words")
        size, hidden = settings.embedding, settings.hidden
        self.settings = settings
        self.words = target_words
        self.embedding = WordMatrix(target_words, size)
        self.source_embedding = None if settings.tying == "three_way" else WordMatrix(source_words, size)
        self.forwards, self.backwards = GRULayer(size, hidden), GRULayer(size, hidden)
        self.initial = nn.Linear(2 * hidden, hidden)
        self.decoder = ConditionalGRU(size, hidden, 2 * hidden, settings.attention_size)
        self.readout = nn.Linear(hidden + 2 * hidden + size, settings.readout_size)
        self.head = build_head(settings.output, target_words)
        self.fused = False
        if not self.embedding.weight.is_meta:
            self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw word matrices uniformly, recurrent ones orthogonally, others by Glorot & Bengio (2010); biases are 0."""
        for name, parameter in self.named_parameters():
            if name in ("embedding.weight", "source_embedding.weight", "head.weight"):
                parameter.uniform_(-self.settings.init, self.settings.init)
            elif name.endswith("recurrent_weight"):
                for gate in parameter.chunk(3):
                    nn.init.orthogonal_(gate)
            elif parameter.dim() == 2:
                nn.init.xavier_uniform_(parameter)
            elif name.endswith("attention.score"):
                nn.init.uniform_(parameter, -self.settings.init, self.settings.init)
            else:
                parameter.zero_()

    @property
    def source_matrix(self) -> WordMatrix:
        """Matrix that reads source words: the target's, if all three are one."""
        return self.embedding if self.source_embedding is None else self.source_embedding

    @property
    def output_matrix(self) -> Tensor:
        """The (V, E) matrix that scores queries."""
        return self.head.output_matrix(self.embedding.weight)

    def use(self, fused: bool, precision: torch.dtype = torch.float32, sparse: bool = False) -> Seq2Seq:
        """Choose the fast kernels of encoder and decoder, which compute in float32; return the model itself."""
        self.fused = fused
        return self

    def dropped(self, vectors: Tensor, share: float, *shape: int) -> Tensor:
        """Apply a dropout mask of this shape (default: of the vectors') while training."""
        drawn = mask(shape or vectors.shape, share, vectors) if self.training else None
        return vectors if drawn is None else vectors * drawn

    def encode(self, source_SB: Tensor, lengths_B: Tensor) -> Source:
        """Return what the decoder attends to. The padding of a sentence changes nothing."""
        most, sentences = source_SB.shape
        vectors_SBE = self.dropped(self.source_matrix(source_SB), self.settings.word_dropout)
        # each sentence reversed within its length: the padding stays at the end, where nothing depends on it
        step_S1 = torch.arange(most, device=source_SB.device)[:, None]
        reversed_SB = torch.where(step_S1 < lengths_B, lengths_B - 1 - step_S1, step_S1)
        streams_B = torch.arange(sentences, device=source_SB.device)
        forwards_SBH = self._read(self.forwards, vectors_SBE)
        backwards_SBH = self._read(self.backwards, vectors_SBE[reversed_SB, streams_B])[reversed_SB, streams_B]
        annotations_BSD = torch.cat([forwards_SBH, backwards_SBH], 2).transpose(0, 1).contiguous()
        present_BS = positions(lengths_B, most)
        annotations_BSD = self.dropped(
            annotations_BSD, self.settings.encoder_dropout, sentences, 1, annotations_BSD.shape[2]
        )
        mean_BD = torch.bmm(present_BS[:, None].to(annotations_BSD.dtype), annotations_BSD)[:, 0] / lengths_B[:, None]
        initial_BH = torch.tanh(self.initial(mean_BD))
        return Source(annotations_BSD, self.decoder.attention.keys(annotations_BSD), present_BS, initial_BH)

    def _read(self, layer: GRULayer, vectors_TBE: Tensor) -> Tensor:
        if self.fused:
            return run_gru(layer, vectors_TBE)
        start_BH = vectors_TBE.new_zeros(vectors_TBE.shape[1], layer.hidden)
        hidden_TBH, _ = layer(vectors_TBE, (start_BH,), NOTHING_DROPPED)
        return hidden_TBH  # type: ignore[no-any-return]

    def query(self, hidden_NH: Tensor, contexts_ND: Tensor, vectors_NE: Tensor) -> Tensor:
        """Apply deep output and head: return the queries, (N, E), or (N, R) for an untied model."""
        deep_NR = torch.tanh(self.readout(torch.cat([hidden_NH, contexts_ND, vectors_NE], 1)))
        query_NE: Tensor = self.head(self.dropped(deep_NR, self.settings.output_dropout))
        return query_NE

    def forward(self, pairs: SentencePairs) -> Scoring:
        """Return what the loss over the targets' words is computed from; padding is left out."""
        source = self.encode(pairs.source_SB, pairs.source_lengths_B)
        vectors_TBE = self.dropped(self.embedding(pairs.inputs_TB), self.settings.word_dropout)
        if self.fused:
            hidden_TBH, contexts_TBD = run_decoder(self.decoder, vectors_TBE, source)
        else:
            hidden_TBH, contexts_TBD, _ = self.decoder(vectors_TBE, source)
        there_N = pairs.present_TB.flatten().nonzero()[:, 0]
        query_NE = self.query(*(part.flatten(0, 1)[there_N] for part in (hidden_TBH, contexts_TBD, vectors_TBE)))
        targets_N = pairs.targets_TB.flatten()[there_N]
        return Scoring(query_NE, self.output_matrix, self.head.bias, targets_N, self.embedding.weight)

    def step(self, words_B: Tensor, hidden_BH: Tensor, source: Source) -> tuple[Tensor, Tensor, Tensor]:
        """Translate by one word: return (queries of the next words (B, E), attention (B, S), state (B, H)).

        A source may have fewer sentences than there are rows: each sentence then has an equal number of rows.
        """
        vectors_BE = self.embedding(words_B)
        if self.fused and not torch.is_grad_enabled():
            hidden_BH, context_BD, weights_BS = decoder_step(self.decoder, vectors_BE, hidden_BH, source)
        else:
            hidden_BH, context_BD, weights_BS = self.decoder.step(vectors_BE, hidden_BH, source)
        return self.query(hidden_BH, context_BD, vectors_BE), weights_BS, hidden_BH
