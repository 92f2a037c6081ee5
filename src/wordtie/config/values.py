"""Check, describe and parse the values of settings, by their types.

The command line and recipes share one parser, so both accept the same values.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from wordtie.errors import did_you_mean

hints_of: Callable[[Any], dict[str, Any]] = lru_cache(get_type_hints)
"""The types of a section's settings by name."""
TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
NONE = ("none", "null", "~")
LARGEST = 3.4e38
"""The largest float32; models are trained in float32."""
LARGEST_INTEGER = 10**20 - 1
"""The largest whole number that `wordtie.storage.strict_json` accepts in the files of a run."""
HINTS = {
    "model.dropout": "; rates are hidden_dropout (outputs of layers) and input_dropout (word vectors)",
    "data.split": ": for example 0.9,0.05,0.05",
}
"""Hint at the end of the error message for a wrong value, by setting."""
_WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    type(None): "none",
}


def parts_of(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union; of any other type, the type itself."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def choices_of(hint: Any) -> tuple[str, ...]:
    """Return the words that a setting accepts; empty if it accepts any number or text."""
    return tuple(choice for part in parts_of(hint) if get_origin(part) is Literal for choice in get_args(part))


def fits(hint: Any, value: object) -> bool:
    """Return whether the value is of this type."""
    parts = parts_of(hint)
    if len(parts) > 1:
        return any(fits(part, value) for part in parts)
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:
        inner = get_args(hint)
        if not isinstance(value, tuple):
            return False
        if inner[1:] == (...,):
            return all(fits(inner[0], each) for each in value)
        return len(value) == len(inner) and all(map(fits, inner, value))
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST
    if hint is int and isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        return False
    return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))


def described(hint: Any) -> str:
    """Describe a value of this type in words: `a whole number or none`."""
    parts = parts_of(hint)
    if len(parts) > 1:
        return " or ".join(map(described, parts))
    if get_origin(hint) is Literal:
        return f"one of {', '.join(map(str, get_args(hint)))}" if len(get_args(hint)) > 1 else str(get_args(hint)[0])
    if get_origin(hint) is tuple:
        return "numbers" if get_args(hint)[1:] == (...,) else f"{len(get_args(hint))} numbers"
    return _WORDS[hint]


def refusal(name: str, hint: Any, value: object, shown: str) -> str:
    """Return the end of the error message for a value of another type: `must be a whole number, got many`."""
    most = f" ({LARGEST:g} at most)" if type(value) in (int, float) and float in parts_of(hint) else ""
    meant = did_you_mean(value, choices_of(hint)) if isinstance(value, str) else ""
    return f"must be {described(hint)}{most}, got {shown}{meant or HINTS.get(name, '')}"


def parsed(hint: Any, text: str) -> Any:
    """Parse a text as none, one of the choices, true or false, a number, or a string.

    Raises `ValueError` if the text is not a value of this type.
    """
    parts = parts_of(hint)
    if type(None) in parts and text.lower() in NONE:
        return None
    for word in (text, text.replace("-", "_")):
        if word in choices_of(hint):
            return word
    if bool in parts and text.lower() in TRUTH:
        return TRUTH[text.lower()]
    for number in (int, float):
        if number in parts:
            try:
                return number(text)
            except ValueError:
                continue
    if get_origin(hint) is tuple:
        return tuple(map(get_args(hint)[0], text.strip("()[]").split(",")))
    if str in parts:
        return text
    raise ValueError(text)
