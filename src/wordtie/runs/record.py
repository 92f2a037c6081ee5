"""Read and check the record of a checkpoint: the position of the run, and its identity.

The checkpoint carries the SHA-256 of its record, but anyone who edits the record can compute it again. So each value is
compared with its range and with the others; `wordtie.training` compares it with the settings and the text.
"""

from __future__ import annotations

import math
import re
from dataclasses import fields
from typing import Any, TypedDict

from wordtie.runs.result import Position
from wordtie.storage.strict_json import conform


class _Words(TypedDict, total=False):
    words: str


class Identity(_Words):
    """The settings and the texts of a run, as `compatibility.identity` gives them. `words`: not in early versions."""

    settings: dict[str, dict[str, Any]]
    texts: dict[str, str]


class _Noted(TypedDict, total=False):
    noted: dict[str, int | None]


class _Record(_Noted):
    """`noted`: what the run was started with besides its settings; not in early versions."""

    position: dict[str, Any]
    identity: Identity


def read_record(record: dict[str, Any]) -> tuple[Position, Identity]:
    """Read the position of the run and its identity. Raises `ValueError`, which names the field."""
    checked = conform(record, _Record)
    return read_position(checked["position"]), checked["identity"]


def read_noted(record: dict[str, Any]) -> dict[str, int | None]:
    """Read what the run was started with besides its settings. Raises `ValueError`, which names the field."""
    return conform(record, _Record).get("noted", {})


def read_position(values: dict[str, Any]) -> Position:
    """Read a position. Raises `ValueError` for a field that is unknown, mistyped, out of range or contradictory."""
    if unknown := set(values) - {each.name for each in fields(Position)}:
        raise ValueError(f"position has an unknown field {min(unknown)!r}")
    conform(values, Position, "position")
    position = Position(**values)
    for name, least in _LEAST.items():
        value = getattr(position, name)
        if not (value >= least and math.isfinite(value)):
            raise ValueError(f"position.{name} must be at least {least}, got {value}")
    _check_history(position)
    if not re.fullmatch("(?:[0-9a-f]{64})?", position.started_from):
        raise ValueError(f"position.started_from is no SHA-256: {position.started_from:.80}")
    return position


_LEAST = {
    "epoch": 1,
    "window": 0,
    "nats": -1e300,
    "tokens": 0,
    "recent_nats": -1e300,
    "recent_tokens": 0,
    "seconds": 0,
    "measuring_seconds": 0,
    "best_epoch": 0,
    "metrics_length": 0,
}


def _check_history(position: Position) -> None:
    """Raise `ValueError` unless the best validation is the first with the lowest perplexity."""
    history = position.history
    if not all(0 < perplexity < math.inf for perplexity in history):
        raise ValueError("position.history has a perplexity that is none")
    best = min(history, default=math.inf)
    if position.best_perplexity != best:
        raise ValueError(f"position.best_perplexity is {position.best_perplexity}, but {best} in position.history")
    epoch = history.index(best) + 1 if history else 0
    if position.best_epoch != epoch:
        raise ValueError(f"position.best_epoch is {position.best_epoch}, but {epoch} in position.history")
