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
from wordtie.heads.build import build_head
from wordtie.heads.projection import Projection
from wordtie.kernels.lstm.layer import FastLayer
from wordtie.kernels.products import trained_product
from wordtie.models.trainable import TrainableModel
from wordtie.nn.build import build_core
from wordtie.nn.core import State
from wordtie.nn.dropout import word_mask
from wordtie.nn.embedding import WordMatrix
from wordtie.nn.lstm import LSTM

WORD_MATRICES = ("embedding.weight", "head.weight")
"""Parameters with one row per word; the second exists if the head is untied."""
UNTRAINED_BIAS = -1000.0
"""Output bias of an `<unk>` that an imported model lacks: its probability is 0 in fp64, and those of the other words
are unchanged."""


class LanguageModel(TrainableModel):
    """Next-word model over a vocabulary of `words` words."""

    def __init__(self, settings: ModelSettings, words: int) -> None:
        super().__init__()
        self.settings = settings
        self.words = words
        self.embedding = WordMatrix(words, settings.embedding_size)
        self.core = build_core(settings)
        self.head = build_head(settings, words)
        if not self.embedding.weight.is_meta:  # shapes to load weights into; initialising those takes old torch long
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw parameters uniformly from (-init, init), gate biases included; the output bias starts at zero."""
        settings = self.settings
        core_init = settings.init if settings.core_init is None else settings.core_init
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                bound = settings.init if name in WORD_MATRICES else core_init
                if name != "head.bias":
                    parameter.uniform_(-bound, bound)
            for layer in self.core.stack:
                layer.reset_biases()
        self.constrain()

    @torch.no_grad()
    def start_from_unigram(self, count_V: Tensor) -> None:
        """Set the output bias, if there is one, to log(share of each word in a text); each counts at least once."""
        if self.head.bias is not None:
            count_V = count_V.clamp(min=1).double()
            self.head.bias.copy_((count_V / count_V.sum()).log())

    @torch.no_grad()
    def constrain(self) -> None:
        """Project the parameters onto their constraints, after a step of the optimiser."""
        if self.settings.unit_rows:
            self.embedding.weight.div_(self.embedding.weight.norm(dim=1, keepdim=True))

    @property
    def output_matrix(self) -> Tensor:
        """The (V, E) matrix that scores queries; the word matrix itself when tied."""
        return self.head.output_matrix(self.embedding.weight)

    def penalty(self) -> Tensor | float:
        """Return what the model adds to the loss summed over a window's tokens, in nats."""
        return self.head.penalty()

    def initial_state(self, streams: int) -> State:
        """Return the state that streams start from."""
        return self.core.initial_state(streams)

    def forward(self, ids_TB: Tensor, state: State) -> tuple[Tensor, State]:
        """Return queries (N, E), row t * B + b for step t of stream b, and the state to carry over."""
        return self.forward_vectors(self.embedding(ids_TB), state, ids_TB)

    def forward_vectors(self, vectors_TBE: Tensor, state: State, ids_TB: Tensor) -> tuple[Tensor, State]:
        """Run `forward` from the given word vectors on; word dropout needs the words' ids."""
        if self.training:
            mask_TB1 = word_mask(ids_TB, self.words, self.settings.word_dropout, vectors_TBE)
            vectors_TBE = vectors_TBE if mask_TB1 is None else vectors_TBE * mask_TB1
        outputs_TBH, state = self.core(vectors_TBE, state)
        return self.head(outputs_TBH.flatten(0, 1)), state

    def logits(self, query_NE: Tensor) -> Tensor:
        """Return the scores of every word, (N, V). For use on few tokens; losses never call it."""
        return nn.functional.linear(query_NE, self.output_matrix, self.head.bias)

    def use(self, fused: bool, precision: torch.dtype = torch.float32, sparse: bool = False) -> LanguageModel:
        """Choose the fast kernels, the precision of their large products, and whether looking up words has a sparse
        gradient; return the model itself."""
        self.embedding.sparse = sparse
        if isinstance(self.core, LSTM):
            self.core.run_layer = FastLayer(precision) if fused else None
        for module in self.head.modules():
            if isinstance(module, Projection):
                module.multiply = trained_product if fused else torch.matmul
        return self
