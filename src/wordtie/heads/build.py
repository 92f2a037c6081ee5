"""From settings to a head."""

from __future__ import annotations

from wordtie.config import ModelSettings
from wordtie.heads.projection import Projection
from wordtie.heads.tied import Tied
from wordtie.heads.tied_linear import TiedLinear
from wordtie.heads.untied import Untied

Head = Tied | Untied


def build_head(settings: ModelSettings, words: int) -> Head:
    """The head that the settings ask for, over a vocabulary of `words` words."""
    bias, size = settings.has_output_bias, settings.embedding_size
    projection = None
    if settings.has_projection:
        projection = Projection(
            settings.hidden, size, settings.projection_penalty, settings.projection_form, settings.projection_bias
        )
    if settings.head == "untied":
        return Untied(words, settings.hidden if projection is None else size, bias, projection)
    return Tied(words, bias) if projection is None else TiedLinear(words, projection, bias)
