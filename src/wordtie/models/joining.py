"""Join the streams of several states of one model: the opposite of `NextWordModel.select`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from wordtie.models.network import NetworkState
from wordtie.models.recent_words import Memory
from wordtie.nn.core import State


def join(states: Sequence[Any]) -> Any | None:
    """Return one state with all their streams, in order; None if they cannot be joined.

    They cannot be joined if they are of an unknown type, or if they remember different numbers of recent words.
    """
    first = states[0]
    if len(states) == 1:
        return first
    if isinstance(first, np.ndarray):
        return np.concatenate(states)
    if isinstance(first, NetworkState):
        return _network(states)
    if isinstance(first, Memory):
        if len({each.ids_BM.shape[1:] + each.query_BME.shape[2:] for each in states}) > 1:
            return None
        return Memory(
            *(np.concatenate(parts) for parts in zip(*((m.ids_BM, m.query_BME) for m in states), strict=True))
        )
    if isinstance(first, tuple):
        parts = [join(parts) for parts in zip(*states, strict=True)]
        return None if any(part is None for part in parts) else tuple(parts)
    return None


def _network(states: Sequence[NetworkState]) -> NetworkState:
    """Join the states of networks; the queries after their last words are kept if all of them are known."""
    after = [state.after for state in states if state.after is not None]
    whole = len(after) == len(states)
    known = (torch.cat([query for query, _ in after]), _core([core for _, core in after])) if whole else None
    return NetworkState(_core([state.core for state in states]), torch.cat([state.last_B for state in states]), known)


def _core(cores: Sequence[State]) -> State:
    layers = zip(*cores, strict=True)
    return [tuple(torch.cat(parts) for parts in zip(*layer, strict=True)) for layer in layers]
