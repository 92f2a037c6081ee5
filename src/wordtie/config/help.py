"""The help of settings, from the dataclasses: name, type, default, choices, and the docstring under the field.

The first sentence of a docstring is the one-line meaning; the rest explains.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from wordtie.config.arguments import option
from wordtie.config.names import ALIASES, SWITCHES, Names
from wordtie.config.values import choices_of, hints_of, parts_of

WIDTH = 100
_KINDS = {bool: "true|false", int: "INT", float: "NUMBER", str: "TEXT", type(None): "none"}


@lru_cache
def meanings(kind: type) -> dict[str, str]:
    """Return the docstring of each field of a dataclass, in one line, from its source: the class does not keep them.

    An inherited field has the docstring of the class that it is from, unless it is documented again.
    """
    found: dict[str, str] = {}
    for each in reversed([base for base in kind.__mro__ if dataclasses.is_dataclass(base)]):
        file = sys.modules[each.__module__].__file__
        assert file is not None
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
        (body,) = (node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == each.__name__)
        found |= _documented(body)
    return found


def _documented(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, after in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            assert isinstance(field.target, ast.Name)
            yield field.target.id, " ".join(str(after.value.value).split())


def meaning(kind: type, setting: str) -> str:
    """Return the first sentence of a setting's docstring."""
    return re.split(r"(?<=\.)(?<!al\.) ", meanings(kind)[setting], maxsplit=1)[0]


def type_of(hint: Any) -> str:
    """Describe a type as `INT|none`, or by its choices: `sgd|adam|rmsprop`."""
    names = list(choices_of(hint))
    names += [_KINDS.get(part, "A,B,C") for part in parts_of(hint) if not choices_of(part)]
    return "|".join(names)


def default_of(kind: type, setting: str) -> str:
    """Return the default as an option takes it."""
    (default,) = (field.default for field in dataclasses.fields(kind) if field.name == setting)
    return as_option(default)


def as_option(value: Any) -> str:
    """Return a value as an option takes it."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def common_settings(names: Names, common: Sequence[str], taken: Mapping[str, Any]) -> str:
    """List the settings that matter most, one per line, with what the command takes for a setting that is not given:
    the value of `taken`, or the default."""
    given = {full: f"{option(names.short(full))} {_value(names, full, taken)}" for full in common}
    width = max(map(len, given.values()))
    lines = [f"  {start:{width}}  {meaning(names.kind(full), last(full))}" for full, start in given.items()]
    return "\n".join(["common settings and their defaults (--help-all lists the others):", *lines])


def all_settings(names: Names, taken: Mapping[str, Any]) -> str:
    """List every setting by section: option, type or choices, default, other names, and its meaning in one line.

    If the command takes another value than the default, which holds in recipes, both are shown.
    """
    blocks = []
    for section, kind in names.sections.items():
        lines = [f"{section} settings:"]
        for field in dataclasses.fields(kind):
            full = f"{section}.{field.name}"
            lines += [f"  {_heading(names, full, taken)}", f"      {meaning(kind, field.name)}"]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def one_setting(names: Names, full: str, taken: Mapping[str, Any]) -> str:
    """Describe one setting in full."""
    text = meanings(names.kind(full))[last(full)]
    indented = textwrap.fill(text, WIDTH, initial_indent="    ", subsequent_indent="    ")
    recipe = f"In a recipe: {last(full)}, in the section {full.partition('.')[0]}."
    return f"{_heading(names, full, taken)}\n\n{indented}\n\n{recipe}"


def last(full: str) -> str:
    """Return the last name of a setting: `hidden` of `model.hidden`."""
    return full.partition(".")[2]


def _value(names: Names, full: str, taken: Mapping[str, Any]) -> str:
    return as_option(taken[full]) if full in taken else default_of(names.kind(full), last(full))


def _heading(names: Names, full: str, taken: Mapping[str, Any]) -> str:
    kind, setting = names.kind(full), last(full)
    also = [option(alias) for alias, fulls in ALIASES.items() if full in fulls]
    also += [option(name) for name, switches in SWITCHES.items() if full in (switch[0] for switch in switches)]
    other = f"  (also {', '.join(also)})" if also else ""
    value, default = _value(names, full, taken), default_of(kind, setting)
    both = value if value == default else f"{value}; recipes {default}"
    return f"{option(names.short(full))} {type_of(hints_of(kind)[setting])}  [{both}]{other}"
