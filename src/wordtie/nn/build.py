"""Build a recurrent core from settings."""

from __future__ import annotations

from collections.abc import Callable

from wordtie.config import ModelSettings
from wordtie.nn.core import Core
from wordtie.nn.gru import GRU
from wordtie.nn.lstm import LSTM
from wordtie.nn.masks import Dropouts
from wordtie.nn.rhn import RHN
from wordtie.nn.rnn import RNN

CORES: dict[str, Callable[[ModelSettings, Dropouts], Core]] = {
    "gru": lambda settings, dropouts: GRU(*_sizes(settings), dropouts),
    "lstm": lambda settings, dropouts: LSTM(*_sizes(settings), dropouts, settings.forget_bias),
    "rhn": lambda settings, dropouts: RHN(
        *_sizes(settings), dropouts, settings.depth, settings.coupled_gates, settings.transform_bias
    ),
    "rnn": lambda settings, dropouts: RNN(*_sizes(settings), dropouts),
}
"""Cores by `model.core`."""


def build_core(settings: ModelSettings) -> Core:
    """Build the core that the settings ask for."""
    return CORES[settings.core](settings, build_dropouts(settings))


def _sizes(settings: ModelSettings) -> tuple[int, int, int]:
    return settings.embedding_size, settings.hidden, settings.layers


def build_dropouts(settings: ModelSettings) -> Dropouts:
    """Return the dropout shares, with those that are not given resolved."""

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
