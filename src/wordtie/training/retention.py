"""Bound what a model forgets of earlier texts when it is adapted to another: move its weights back towards its start.

Rehearsal slows forgetting, but does not bound it. After training, a share s of the change is kept:

    rows of earlier words = start + s (trained - start)
    other parameters      = start + (1 - (1 - s)^2) (trained - start)

s is the largest tried for which the perplexity of each earlier validation text, over its own words
(`wordtie.evaluation.earlier_words`), rises by at most the share `training.max_forgetting`. Rows of new words stay as
trained. This is the weight interpolation of Wortsman et al. (2022), "Robust fine-tuning of zero-shot models", with rows
that move back further than the rest: training moves those of rare words far in few steps, and the new text uses few of
them.

Shapes: V words, N tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wordtie.config import Settings
from wordtie.data.batches import Ids
from wordtie.evaluation.earlier_words import evaluate_network_on_earlier_words
from wordtie.models.language_model import WORD_MATRICES, LanguageModel
from wordtie.runs.run_folder import SavedModel
from wordtie.training.rehearsal import EarlierText
from wordtie.training.task import Tensors
from wordtie.training.vocabulary_extension import BIAS

MOST_READ = 8_192
"""Tokens of each earlier validation text that are read to choose the share, at most."""
HALVINGS = 4
"""Times that the range of the share is halved: it is found to within 1/16."""
READINGS = 2 + HALVINGS
"""Times that each of these texts is read: with the start, with the trained model, and for each halving."""
COPIES = 4
"""Copies of the parameters: the start, over its own words and over all, a model with it, and what is tried."""
PER_WORD = (*WORD_MATRICES, BIAS)
"""Parameters with one row, or one number, per word."""


def is_limited(settings: Settings) -> bool:
    """Whether forgetting is limited.

    Without rehearsal it is not: far from the start, a model that is moved back knows neither text.
    """
    training = settings.training
    return training.max_forgetting is not None and training.rehearsal > 0 and training.start_from is not None


def copies_held(settings: Settings, earlier: Sequence[EarlierText]) -> int:
    """Return how often the parameters are held to limit forgetting, besides in every training."""
    return COPIES if is_limited(settings) and earlier else 0


def most_read(settings: Settings) -> int:
    """Return how many tokens of each earlier validation text are read to choose the share, at most."""
    return min(MOST_READ, settings.training.measured_tokens or MOST_READ)


def tokens_to_read(settings: Settings, earlier: Sequence[EarlierText]) -> int:
    """Return how many tokens choosing a share reads, all readings together; 0 if forgetting is not limited."""
    most = most_read(settings) if is_limited(settings) else 0
    return READINGS * sum(min(len(each.data.valid), most) for each in earlier)


@dataclass(frozen=True)
class Retention:
    """The limit on forgetting of one run."""

    settings: Settings
    before: SavedModel
    """The model that training started from, over its own words."""
    start: Tensors
    """The same over the words of both, as it would be exported."""
    texts: Sequence[tuple[Ids, int]]
    """Validation text of each earlier run, (N,), and the number of its words."""

    @classmethod
    def of(cls, settings: Settings, before: SavedModel, start: Tensors, earlier: Sequence[EarlierText]) -> Retention:
        """Read some of each earlier validation text that the start has the words of."""
        known = [each for each in earlier if len(each.data.vocabulary) <= len(before.tokenizer.vocabulary)]
        most = most_read(settings)
        texts = [(each.data.measured("valid", most), len(each.data.vocabulary)) for each in known]
        return cls(settings, before, {name: tensor.clone() for name, tensor in start.items()}, texts)

    @property
    def tokens(self) -> int:
        """Number of tokens that choosing a share reads, all readings together."""
        return READINGS * sum(len(ids_N) for ids_N, _ in self.texts)

    def __call__(self, model: LanguageModel, trained: Tensors) -> tuple[Tensors, float] | None:
        """Return the tensors to export in place of the trained ones, and the share of the change that they keep.

        None if no share that is tried meets the limit. The `model` has other parameters afterwards.
        """
        training = self.settings.training
        old = LanguageModel(self.before.settings.model, len(self.before.tokenizer.vocabulary)).to(model.device)
        old.load_state_dict(self.before.tensors)
        most = 1 + (training.max_forgetting or 0.0)
        limits = [most * each for each in self._perplexities(old.use(training.fused))]

        def holds(tensors: Tensors) -> bool:
            model.load_state_dict(tensors)
            now = self._perplexities(model.use(training.fused))
            return all(perplexity <= limit for perplexity, limit in zip(now, limits, strict=True))

        if holds(trained):
            return trained, 1.0
        kept, (low, high) = None, (0.0, 1.0)
        for _ in range(HALVINGS):
            share = (low + high) / 2
            if holds(moved := self.moved_back(model, trained, share)):
                kept, low = (moved, share), share
            else:
                high = share
        return kept

    def moved_back(self, model: LanguageModel, trained: Tensors, share: float) -> Tensors:
        """Return the tensors that keep a share of the change, projected onto the model's constraints.

        Where noise is exported as its mean, they are means, to which no constraint applies.
        """
        words = len(self.before.tokenizer.vocabulary)
        moved: Tensors = {}
        for name, now in trained.items():
            if name in PER_WORD:
                moved[name] = now.clone()
                moved[name][:words] = self.start[name][:words].lerp(now[:words], share)
            else:
                moved[name] = self.start[name].lerp(now, 1 - (1 - share) ** 2)
        if self.settings.noise.predicts_with == "mean":
            return moved
        model.load_state_dict(moved)
        model.constrain()
        return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}

    def _perplexities(self, model: LanguageModel) -> list[float]:
        """Compute the perplexity of each text, over its own words."""
        vocabulary = self.before.tokenizer.vocabulary
        return [evaluate_network_on_earlier_words(model, *text, vocabulary).perplexity for text in self.texts]
