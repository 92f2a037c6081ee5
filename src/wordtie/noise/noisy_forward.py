"""The forward pass of a language model with noise: what the loss of a window is computed from.

Without noise this is a plain pass of the model, with the same numbers and the same random numbers. Data noising
changes the ids; variational smoothing draws the rows of the words that are read, and those of the targets
(Kong et al. 2019). Dropout of single coordinates is drawn per word and sequence for the input, and for the whole
output matrix once a window: in expectation the same as a mask per sequence, at a B-th of the cost.

Outside training the model is read as `sampling` at prediction reads it: with the words drawn, nothing dropped, and no
target another word than in the text; where targets are smoothed their vectors are drawn.

Shapes: T steps, B streams, N = T * B tokens, V words, E embedding size.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from wordtie.config import NoiseSettings
from wordtie.data.token_file import PreparedData
from wordtie.losses.loss import Scoring
from wordtie.models.language_model import LanguageModel
from wordtie.ngrams.counts import neighbour_counts
from wordtie.nn.core import State
from wordtie.nn.drawn_rows import RowDraw, distinct_words, drawn_rows, every_word
from wordtie.nn.dropout import element_mask
from wordtie.noise.data_noising import noised_window
from wordtie.noise.proposals import Proposal, build_proposal
from wordtie.noise.smoothed_l2 import l2_coefficients
from wordtie.noise.smoothed_prediction import (
    fold_mean,
    fold_mean_into_layer,
    unfold_mean,
    unfold_mean_from_layer,
)
from wordtie.noise.variational_smoothing import (
    rows_of,
    smooth_element_pairs,
    smooth_elements,
    smooth_pairs,
    smooth_shared,
    smooth_words,
)

MATRIX = "embedding.weight"
"""The word matrix among the model's parameters."""
FIRST_LAYER = ("core.layers.0.input_weight", "core.layers.0.bias")
"""Parameters that read word vectors, in every core: the layer is affine in its input."""
OUTPUT_MATRIX = "head.weight"
"""Output matrix of an untied head; the others score with the word matrix."""


@dataclass(frozen=True)
class Noise:
    """The noise of a run. `proposal` None: no word is replaced."""

    settings: NoiseSettings
    proposal: Proposal | None = None

    def forward(
        self, model: LanguageModel, inputs_TB: Tensor, targets_TB: Tensor, state: State
    ) -> tuple[Scoring, State]:
        """Read the window, with newly drawn words: return what the loss takes, and the state to carry over."""
        inputs_TB, targets_TB = self._noised(inputs_TB, targets_TB, model.training)
        targets_N = targets_TB.flatten()
        rows = self._rows(model, inputs_TB, targets_TB)
        words_VE, output_VE = model.embedding.weight, model.output_matrix
        if self.proposal is not None and self.settings.output_draw == "all":
            every = every_word(len(output_VE), output_VE.device)
            output_VE = drawn_rows(output_VE, self._drawn(every, self.proposal, output_VE.shape[1]))[0][:, 0]
        mask_VE = None
        if model.training and self.settings.output_vector_dropout:
            words, size = output_VE.shape
            mask_VE = element_mask(words, size, self.settings.output_vector_dropout, output_VE)
            output_VE = output_VE * mask_VE
        if rows is None:
            query_NE, state = model(inputs_TB, state)
            return Scoring(query_NE, output_VE, model.head.bias, targets_N, words_VE), state
        vectors_TBE, *drawn_TBE = self._vectors(model, rows, inputs_TB)
        query_NE, state = model.forward_vectors(vectors_TBE, state, inputs_TB)
        drawn_NE = drawn_TBE[0].flatten(0, 1) if drawn_TBE else None
        if drawn_NE is not None and mask_VE is not None:
            drawn_NE = drawn_NE * mask_VE[targets_N]
        return Scoring(query_NE, output_VE, model.head.bias, targets_N, words_VE, drawn_NE), state

    def _noised(self, inputs_TB: Tensor, targets_TB: Tensor, training: bool) -> tuple[Tensor, Tensor]:
        if self.proposal is None or self.settings.smooths:
            return inputs_TB, targets_TB
        return noised_window(self.proposal, inputs_TB, targets_TB, training and self.settings.kind == "kneser_ney")

    def _rows(self, model: LanguageModel, inputs_TB: Tensor, targets_TB: Tensor) -> RowDraw | None:
        """Return the rows that are drawn, of the input and, if it is smoothed, the output; None for a plain look-up."""
        if self.proposal is not None and self.settings.smooths:
            return self._smoothed(inputs_TB, targets_TB, self.proposal, *model.embedding.weight.shape)
        if model.training and self.settings.input_vector_dropout:
            return distinct_words(inputs_TB[None], model.words)
        return None

    def _smoothed(self, inputs_TB: Tensor, targets_TB: Tensor, proposal: Proposal, words: int, size: int) -> RowDraw:
        elementwise, draw = self.settings.elementwise, self.settings.output_draw
        tokens = self.settings.drawn_for == "token"
        if draw == "with_input":
            if elementwise:
                return smooth_element_pairs(inputs_TB, targets_TB, words, proposal, size, tokens)
            return smooth_pairs(inputs_TB, targets_TB, words, proposal, tokens)
        if draw == "shared":
            return smooth_shared(inputs_TB, targets_TB, words, proposal)
        sides = [inputs_TB, targets_TB] if draw == "own" else [inputs_TB]
        rows = rows_of(torch.stack(sides), words, tokens)
        return self._drawn(rows, proposal, size)

    def _drawn(self, rows: RowDraw, proposal: Proposal, size: int) -> RowDraw:
        return smooth_elements(rows, proposal, size) if self.settings.elementwise else smooth_words(rows, proposal)

    def _vectors(self, model: LanguageModel, rows: RowDraw, inputs_TB: Tensor) -> tuple[Tensor, ...]:
        """Return vectors, (T, B, E) each: inputs, then targets if they are drawn."""
        matrix_VE = model.embedding.weight
        mask_ME, share = None, self.settings.input_vector_dropout
        if model.training and share:
            by_token = self.proposal is not None and self.settings.smooths and self.settings.drawn_for == "token"
            words = distinct_words(inputs_TB[None], model.words) if by_token else rows
            mask_ME = element_mask(words.first_side, matrix_VE.shape[1], share, matrix_VE)
            if by_token:  # each token has a row, but each word one mask
                mask_ME = mask_ME[words.row_KTB[0].flatten()]
        return drawn_rows(matrix_VE, rows, mask_ME, model.embedding.sparse)

    def add_l2_gradient(self, model: LanguageModel) -> None:
        """Add the gradient of the L2 term to the parameters' gradients; biases have none."""
        if not self.settings.l2:
            return
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.endswith("bias") or parameter.grad is None:
                    continue
                if name == MATRIX and self.proposal is not None and self.settings.smooths:
                    weight_V = self.settings.l2 * l2_coefficients(self.proposal, self.settings.l2_form)
                    parameter.grad.addcmul_(parameter, weight_V[:, None].to(parameter.dtype))
                else:
                    parameter.grad.add_(parameter, alpha=self.settings.l2)

    def for_prediction(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return a model's tensors as they are exported: with the mean folded in, if that is what predicts."""
        return self._folded(tensors, self.settings.predicts_with)

    def _folded(self, tensors: dict[str, Tensor], reads_with: str) -> dict[str, Tensor]:
        if self.proposal is None or reads_with != "mean":
            return tensors
        matrix_VE = tensors[MATRIX]
        if not self._matrix_must_stay(tensors):
            return {**tensors, MATRIX: fold_mean(matrix_VE, self.proposal)}
        weight, bias = (tensors[name] for name in FIRST_LAYER)
        folded = fold_mean_into_layer(weight, bias, matrix_VE, self.proposal)
        return {**tensors, **dict(zip(FIRST_LAYER, folded, strict=True))}

    def _matrix_must_stay(self, tensors: dict[str, Tensor]) -> bool:
        """Whether the word matrix scores words without noise, so that the mean of what is read goes elsewhere."""
        return self.settings.noises_inputs_alone and OUTPUT_MATRIX not in tensors

    def for_training(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Invert `for_prediction`, up to rounding: what to start from if an exported model is trained further.

        Raises `ValueError` if some word is always replaced.
        """
        if self.proposal is None or self.settings.predicts_with != "mean":
            return tensors
        matrix_VE = tensors[MATRIX]
        if not self._matrix_must_stay(tensors):
            return {**tensors, MATRIX: unfold_mean(matrix_VE, self.proposal)}
        weight, bias = (tensors[name] for name in FIRST_LAYER)
        trained = unfold_mean_from_layer(weight, bias, matrix_VE, self.proposal)
        return {**tensors, **dict(zip(FIRST_LAYER, trained, strict=True))}

    @contextmanager
    def frozen(self, model: LanguageModel) -> Iterator[None]:
        """Read the model as for choosing epochs; then restore the parameters, to the bit, for further training."""
        parameters = dict(model.named_parameters())
        trained = {name: parameter.data for name, parameter in parameters.items()}
        try:
            for name, tensor in self._folded(trained, self.settings.chooses_with).items():
                parameters[name].data = tensor
            yield
        finally:
            for name, tensor in trained.items():
                parameters[name].data = tensor


def build_noise(settings: NoiseSettings, data: PreparedData, device: torch.device) -> Noise:
    """Build the noise; count the training text if words are to be replaced. Raises `DataError` if it is too short."""
    if settings.kind == "none":
        return Noise(settings)
    counts = neighbour_counts(data.train, len(data.vocabulary))
    return Noise(settings, build_proposal(settings, counts, data.vocabulary.unk_id).to(device))
