"""JSON as this program writes it, read strictly: for a file that was damaged or edited, the error names the field.

`json.loads` accepts more than JSON (`NaN`), keeps the last of two equal keys, and neither bounds the size of a file,
the depth of its nesting nor the digits of a number. `parse` does. `conform` compares what was parsed with a type:

    int, float, str, bool, None, Any    float takes whole numbers, too; nothing else is converted
    Literal, X | Y, list[X], dict[str, X]
    a TypedDict                         unknown keys are ignored, as a later version may add some
    a dataclass                         the same as its fields, where those with a default may be missing
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import reprlib
import types
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

MOST_BYTES = 64 << 20
"""Largest number of bytes in a file; `tokenizer.json`, which holds a vocabulary, may be larger."""
MOST_DEPTH = 32
"""Largest depth of lists and objects inside one another."""
MOST_DIGITS = 19
"""Largest number of digits in a whole number: it fits 64 bits, or nearly so."""
LONG_NUMBER = re.compile(rf"[0-9]{{{MOST_DIGITS + 1}}}")
T = TypeVar("T")


class JsonError(ValueError):
    """What is wrong with the JSON, in one line; code that reads a file adds its name."""


def read(data: bytes | str, kind: type[T], name: str = "", most_bytes: int = MOST_BYTES) -> T:
    """Parse, and check against a TypedDict or another type; errors call the whole `name`. Raises `JsonError`.

    >>> read('{"a": [1, true]}', dict[str, list[int]])
    Traceback (most recent call last):
    ...
    wordtie.storage.strict_json.JsonError: a[1] must be a whole number, got True
    """
    return conform(parse(data, most_bytes), kind, name)


def parse(data: bytes | str, most_bytes: int = MOST_BYTES, infinity: bool = False) -> Any:
    """Parse a JSON text in UTF-8, with finite numbers. Raises `JsonError`.

    `infinity`: accept `Infinity`, which checkpoints write before there is a best perplexity.
    """
    if len(data) > most_bytes:
        raise JsonError(f"larger than {most_bytes:,} bytes")

    def constant(name: str) -> float:
        if not (infinity and name == "Infinity"):
            raise JsonError(f"{name} is no number")
        return math.inf

    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        integer = _integer if LONG_NUMBER.search(text) else None  # slow, where there are tens of thousands
        value = json.loads(
            text, object_pairs_hook=with_distinct_names, parse_int=integer, parse_float=_finite, parse_constant=constant
        )
    except RecursionError as error:
        raise JsonError(f"nested deeper than {MOST_DEPTH} levels") from error
    except ValueError as error:  # of the text as JSON or as UTF-8, too
        raise JsonError(" ".join(str(error).split())) from error
    _check_depth(value)
    return value


def with_distinct_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its fields, for `json.loads`. Raises `JsonError` if two have one name: the last would win."""
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        double = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise JsonError(f"{reprlib.repr(double)} is there twice")
    return values


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS + 1:  # a minus sign
        raise JsonError(f"a whole number of {len(digits):,} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise JsonError(f"{reprlib.repr(digits)} is larger than any number")
    return value


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        inside = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [inner for values in inside for inner in values if isinstance(inner, dict | list)]
        if not level:
            return
    raise JsonError(f"nested deeper than {MOST_DEPTH} levels")


def conform(value: Any, kind: type[T], name: str = "") -> T:
    """Check that a value is of this type, and return it. Raises `JsonError`, which names the field."""
    _check(value, kind, name)
    checked: T = value
    return checked


def _check(value: Any, hint: Any, name: str) -> None:
    origin, parts = get_origin(hint), get_args(hint)
    if is_typeddict(hint) or dataclasses.is_dataclass(hint):
        _check_fields(value, hint, name)
    elif origin is list and isinstance(value, list):
        for number, each in enumerate(value):
            _check(each, parts[0], f"{name}[{number}]")
    elif origin is dict and isinstance(value, dict):
        if parts[1] in (int, str) and all(type(each) is parts[1] for each in value.values()):
            return  # a vocabulary has tens of thousands
        for key, each in value.items():
            _check(each, parts[1], f"{name}.{key}".lstrip("."))
    elif origin in (Union, types.UnionType) and not isinstance(value, dict | list):
        if not any(_is_of(value, part) for part in parts):
            raise _wrong(value, hint, name)
    elif origin in (Union, types.UnionType):
        _check(value, next((part for part in parts if get_origin(part) is type(value)), parts[0]), name)
    elif not _is_of(value, hint):
        raise _wrong(value, hint, name)


def _check_fields(value: Any, hint: Any, name: str) -> None:
    if not isinstance(value, dict):
        raise _wrong(value, hint, name)
    for key in _required(hint):
        if key not in value:
            raise JsonError(f"{f'{name}.{key}'.lstrip('.')} is missing")
    for key, part in get_type_hints(hint).items():
        if key in value:
            _check(value[key], part, f"{name}.{key}".lstrip("."))


def _required(hint: Any) -> list[str]:
    if is_typeddict(hint):
        return sorted(hint.__required_keys__)
    none = dataclasses.MISSING
    return [each.name for each in dataclasses.fields(hint) if each.default is none and each.default_factory is none]


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value that is no list or object is of the type; lists and objects are of `Any` alone."""
    if hint is Any:
        return True
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if isinstance(value, bool):
        return hint is bool
    if hint is float:
        return isinstance(value, int | float)
    return isinstance(hint, type) and isinstance(value, hint)


def _wrong(value: Any, hint: Any, name: str) -> JsonError:
    return JsonError(f"{name or 'the whole'} must be {_described(hint)}, got {reprlib.repr(value)}")


def _described(hint: Any) -> str:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(map(_described, parts))
    if origin is Literal:
        return f"one of {', '.join(map(str, parts))}"
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", types.NoneType: "null"}
    return words.get(hint, "a list" if origin is list else "an object")
