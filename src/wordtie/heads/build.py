"""Build a head from settings."""

from __future__ import annotations

from collections.abc import Callable

from wordtie.config import ModelSettings
from wordtie.heads.projection import Projection
from wordtie.heads.tied import Tied, TiedLinear
from wordtie.heads.untied import Untied

Head = Tied | Untied


def _untied(settings: ModelSettings, words: int, projection: Projection | None) -> Head:
    size = settings.hidden if projection is None else settings.embedding_size
    return Untied(words, size, settings.has_output_bias, projection)


def _tied(settings: ModelSettings, words: int, projection: Projection | None) -> Head:
    bias = settings.has_output_bias
    return Tied(words, bias) if projection is None else TiedLinear(words, projection, bias)


HEADS: dict[str, Callable[[ModelSettings, int, Projection | None], Head]] = {
    "tied": _tied,
    "tied_linear": _tied,
    "untied": _untied,
}
"""Heads by `model.head`; with `tied_linear`, the settings ask for a projection."""


def build_head(settings: ModelSettings, words: int) -> Head:
    """Build the head that the settings ask for, over a vocabulary of `words` words."""
    projection = None
    if settings.has_projection:
        projection = Projection(
            settings.hidden,
            settings.embedding_size,
            settings.projection_penalty,
            settings.projection_form,
            settings.projection_bias,
        )
    return HEADS[settings.head](settings, words, projection)
