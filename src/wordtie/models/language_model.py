"""The language model: word matrix, recurrent core, head.

    ids -> word vectors -> core -> query -> scores of every word by the head's output matrix

Inan, Khosravi & Socher (2017): `head="tied"` is RE, with the augmented loss REAL.
Parameters start uniform in (-init, init) as Zaremba et al. (2014) have them.

Shapes: T steps, B streams, N = T * B tokens, V words, E embedding size, H units.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wordtie.config import ModelSettings
from wordtie.heads.tied import Tied
from wordtie.heads.untied import Untied
from wordtie.kernels.lstm import fast_layer
from wordtie.nn.embedding import WordMatrix
from wordtie.nn.lstm import LSTM, LSTMLayer, State


class LanguageModel(nn.Module):
    """Next-word model over a vocabulary of `words` words."""

    def __init__(self, settings: ModelSettings, words: int) -> None:
        super().__init__()
        self.settings = settings
        self.words = words
        self.embedding = WordMatrix(words, settings.embedding_size)
        self.core = LSTM(
            settings.embedding_size,
            settings.hidden,
            settings.layers,
            settings.input_dropout,
            settings.hidden_dropout,
        )
        self.head: Tied | Untied
        if settings.head == "tied":
            self.head = Tied(words, settings.has_output_bias)
        else:
            self.head = Untied(words, settings.hidden, settings.has_output_bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform in (-init, init), biases of the gates included; the output bias starts at zero."""
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name != "head.bias":
                    parameter.uniform_(-self.settings.init, self.settings.init)
            for layer in self.core.lstm_layers:
                hidden = self.settings.hidden
                layer.bias[hidden : 2 * hidden] += self.settings.forget_bias

    @property
    def output_matrix(self) -> Tensor:
        """The (V, E) matrix that scores queries; the word matrix itself when tied."""
        return self.head.output_matrix(self.embedding.weight)

    def initial_state(self, streams: int) -> State:
        """What a stream starts from."""
        return self.core.initial_state(streams)

    def forward(self, ids_TB: Tensor, state: State) -> tuple[Tensor, State]:
        """Queries (N, E), row t * B + b for step t of stream b, and the state to carry on."""
        return self.read(self.embedding(ids_TB), state)

    def read(self, vectors_TBE: Tensor, state: State) -> tuple[Tensor, State]:
        """`forward` from the word vectors on, for whoever draws them."""
        outputs_TBH, state = self.core(vectors_TBE, state)
        return self.head(outputs_TBH.flatten(0, 1)), state

    def logits(self, query_NE: Tensor) -> Tensor:
        """Scores of every word, (N, V). For use on few tokens; losses never call it."""
        return nn.functional.linear(query_NE, self.output_matrix, self.head.bias)

    def use(self, fused: bool, precision: torch.dtype = torch.float32) -> LanguageModel:
        """Choose the fast twins and the precision of their large products; returns itself."""
        self.core.run_layer = fast_layer(precision) if fused else LSTMLayer.forward
        return self

    def parameter_count(self) -> int:
        """Trainable numbers, the shared matrix counted once."""
        return sum(parameter.numel() for parameter in self.parameters())
