"""From settings to a recurrent core."""

from __future__ import annotations

from wordtie.config import ModelSettings
from wordtie.nn.core import Core
from wordtie.nn.gru import GRU
from wordtie.nn.lstm import LSTM
from wordtie.nn.masks import Dropouts
from wordtie.nn.rhn import RHN
from wordtie.nn.rnn import RNN


def build_core(settings: ModelSettings) -> Core:
    """The core that the settings ask for."""
    sizes = (settings.embedding_size, settings.hidden, settings.layers)
    dropouts = build_dropouts(settings)
    if settings.core == "gru":
        return GRU(*sizes, dropouts)
    if settings.core == "rnn":
        return RNN(*sizes, dropouts)
    if settings.core == "rhn":
        return RHN(*sizes, dropouts, settings.depth, settings.coupled_gates, settings.transform_bias)
    return LSTM(*sizes, dropouts, settings.forget_bias)


def build_dropouts(settings: ModelSettings) -> Dropouts:
    """The shares, with those that are not given resolved."""

    def share(given: float | None) -> float:
        return settings.hidden_dropout if given is None else given

    return Dropouts(
        kind=settings.dropout,
        input=settings.input_dropout,
        recurrent=share(settings.recurrent_dropout),
        between=share(settings.between_dropout),
        output=share(settings.output_dropout),
        candidate=settings.candidate_dropout,
        weights=settings.weight_drop,
    )
