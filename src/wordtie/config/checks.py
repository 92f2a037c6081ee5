"""Settings made in Python are checked against their declared types, like those of the command line.

A misspelt choice must not train something else.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

from wordtie.config.values import fits, hints_of, refusal
from wordtie.errors import SettingsError, require


def check_seed(seed: int, name: str) -> None:
    """Raise a `SettingsError` for a number that cannot seed a random generator."""
    whole = isinstance(seed, Integral) and not isinstance(seed, bool)
    require(whole and 0 <= seed < 2**63, f"{name} must be from 0 to 2^63 - 1, got {seed!r}")


def check_types(settings: object, section: str) -> None:
    """Raise a `SettingsError` for a value that its field's type does not allow; turn numpy's numbers into Python's."""
    for field, hint in hints_of(type(settings)).items():
        value, name = getattr(settings, field), f"{section}.{field}"
        if not fits(hint, value):
            raise SettingsError(f"{name} {refusal(name, hint, value, reprlib.repr(value))}")
        object.__setattr__(settings, field, _plain(value))


def check_sections(settings: object, sections: Mapping[str, type]) -> None:
    """Raise a `SettingsError` for a section that is not of its class."""
    for section, kind in sections.items():
        given = getattr(settings, section)
        require(type(given) is kind, f"{section} must be made with {kind.__name__}, got {given!r:.80}")


def _plain(value: Any) -> Any:
    """Numbers and texts as Python's own types: YAML cannot write numpy's float64, although it is a float."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, bool):
        return value
    return next((plain(value) for kind, plain in _PLAIN.items() if isinstance(value, kind)), value)


_PLAIN: dict[type, Callable[[Any], Any]] = {int: int.__int__, float: float.__float__, str: str.__str__}
