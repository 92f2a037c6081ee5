"""Settings that are made in Python are held to their declared types, as those of the command line are.

A choice that is misspelt must not train something else.
"""

from __future__ import annotations

import reprlib
import types
from collections.abc import Callable
from functools import lru_cache
from numbers import Integral
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from wordtie.errors import SettingsError, require

LARGEST = 3.4e38
"""The most that a float32 holds, in which models are trained."""
_hints: Callable[[Any], dict[str, Any]] = lru_cache(get_type_hints)


def check_seed(seed: int, name: str) -> None:
    """Raise a `SettingsError` for what random numbers cannot be begun with."""
    whole = isinstance(seed, Integral) and not isinstance(seed, bool)
    require(whole and 0 <= seed < 2**63, f"{name} must be from 0 to 2^63 - 1, got {seed!r}")


def check_types(settings: object, section: str) -> None:
    """Raise a `SettingsError` for a value that its field's type does not allow; make of numpy's what is Python's."""
    for name, hint in _hints(type(settings)).items():
        value = getattr(settings, name)
        if not _fits(hint, value):
            most = f" ({LARGEST:g} at most)" if type(value) in (int, float) and float in (hint, *get_args(hint)) else ""
            raise SettingsError(f"{section}.{name} must be {_described(hint)}{most}, got {reprlib.repr(value)}")
        object.__setattr__(settings, name, _plain(value))


def _plain(value: Any) -> Any:
    """Numbers and texts of Python's own: numpy's float64 is a float, too, but nothing that YAML can write."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, bool):
        return value
    return next((plain(value) for kind, plain in _PLAIN.items() if isinstance(value, kind)), value)


_PLAIN: dict[type, Callable[[Any], Any]] = {int: int.__int__, float: float.__float__, str: str.__str__}


def _fits(hint: Any, value: object) -> bool:
    if get_origin(hint) in (Union, types.UnionType):
        return any(_fits(part, value) for part in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:
        parts = get_args(hint)
        return isinstance(value, tuple) and len(value) == len(parts) and all(map(_fits, parts, value))
    if hint is float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return abs(value) <= LARGEST
    return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))


def _described(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(_described(part) for part in get_args(hint))
    if get_origin(hint) is Literal:
        return f"one of {', '.join(map(str, get_args(hint)))}"
    if get_origin(hint) is tuple:
        return f"{len(get_args(hint))} numbers, as in (0.9, 0.05, 0.05)"
    return {bool: "true or false", int: "a whole number", float: "a number", str: "a text", type(None): "none"}[hint]
