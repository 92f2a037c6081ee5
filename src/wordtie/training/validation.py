"""How a run measures its model: between epochs to choose by, and what it exported in the end. Always in fp32."""

from __future__ import annotations

from dataclasses import dataclass

from wordtie.config import Settings
from wordtie.data.batches import Ids
from wordtie.data.token_file import PreparedData
from wordtie.evaluation.perplexity import Score, evaluate
from wordtie.evaluation.sampled import evaluate_sampled
from wordtie.models.language_model import LanguageModel
from wordtie.noise.noisy_forward import Noise
from wordtie.training.run_state import RunState, Tensors

VALIDATION_STREAMS = 10
"""Streams while choosing between epochs; the figures in the result are over one stream."""


@dataclass(frozen=True)
class Measuring:
    """The texts that a run is measured on, and how."""

    settings: Settings
    data: PreparedData
    noise: Noise

    def between_epochs(self, now: RunState) -> Score:
        """The validation text, read with the model as it is now: the mean of weights or word vectors, if any."""
        model = now.model.use(self.settings.training.fused)
        with now.average.applied(model), self.noise.frozen(model):
            return evaluate(model, self.data.valid, self.data.vocabulary.eos_id, VALIDATION_STREAMS)

    def exported(self, model: LanguageModel, tensors: Tensors) -> tuple[Score, Score]:
        """Validation and test text with these parameters, which the model then has."""
        model.load_state_dict(tensors)
        model.use(self.settings.training.fused)
        return self._final(model, self.data.valid), self._final(model, self.data.test)

    def _final(self, model: LanguageModel, ids: Ids) -> Score:
        """Over one stream, or over draws of the noise where `noise.prediction` is sampling."""
        eos_id, noise = self.data.vocabulary.eos_id, self.settings.noise
        if noise.predicts_with != "sampling":
            return evaluate(model, ids, eos_id)
        return evaluate_sampled(model, self.noise, ids, eos_id, self.settings.training.steps, noise.samples)
