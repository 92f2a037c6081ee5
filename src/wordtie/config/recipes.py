"""YAML recipes: sections with settings in them, each value kept with the file and the line it comes from.

Scalars are read by the type of the setting rather than by YAML's own rules, so that `corpus: 1984` is a text and
`lr: 1e-3` a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin

from wordtie.config.names import Names
from wordtie.config.paths import path_of
from wordtie.config.renamed import current_name
from wordtie.config.values import fits, hints_of, parsed, refusal
from wordtie.errors import UsageError

if TYPE_CHECKING:
    import yaml

LONGEST_RECIPE = 100_000
"""Most bytes of a recipe; `--print-config` writes about 3 kB."""
HINT = "`wordtie train --print-config` writes a recipe"


@dataclass(frozen=True)
class Given:
    """A value that was given for a setting, and where: `my.yaml, line 3`, or the option as it was typed."""

    value: Any
    place: str
    from_recipe: bool = False


def read_recipe(name: str, sections: Mapping[str, type]) -> dict[str, Given]:
    """Read the settings of a recipe, by full name such as `model.hidden`.

    Raises a `UsageError` with the file and the line for what is no recipe: an unknown section or setting, a value of
    the wrong type, a name that is given twice.
    """
    path = path_of(name)
    root = _composed(path)
    listed = ", ".join(sections)
    shape = f"a recipe has sections ({listed}) with settings in them; {HINT}"
    every = Names(sections)
    found: dict[str, Given] = {}
    for section, settings, place in _pairs(root, path, f"{path}: {shape}"):
        if section not in sections:
            raise UsageError(f"{place}: {section} is no section of a recipe ({listed}){_home(section, every)}")
        for setting, node, line in _pairs(settings, path, f"{place}: {shape}"):
            full = current_name(f"{section}.{setting}")
            if full not in every.known:
                meant = Names({section: sections[section]}, spell=_last_name).nearest(section, setting)
                raise UsageError(f"{line}: {section} has no setting {setting}{meant}")
            if full in found:
                raise UsageError(f"{line}: {setting} is given already, in {found[full].place}")
            found[full] = Given(_value(full, every.kind(full), node, line), line, from_recipe=True)
    return found


def _last_name(full: str) -> str:
    return full.rpartition(".")[2]


def _home(name: str, names: Names) -> str:
    """Return the end of an error message: the section of a setting that is given where a section should be."""
    homes = names.by_last_name.get(name, [])
    return f"; it is a setting of {' and '.join(full.partition('.')[0] for full in homes)}" if homes else ""


def _composed(path: Path) -> yaml.Node | None:
    """Read the nodes of a YAML file, which know their lines. Raises `UsageError`."""
    import yaml

    try:
        with path.open("rb") as file:
            content = file.read(LONGEST_RECIPE + 1)
        if len(content) > LONGEST_RECIPE:
            raise UsageError(f"{path}: is longer than {LONGEST_RECIPE // 1000} kB: is it a recipe?")
        return yaml.compose(content.decode("utf-8"), Loader=yaml.SafeLoader)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text: is it a recipe?") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # no such date; too deeply nested
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise UsageError(f"{path}{line}: not YAML; {HINT}") from error


def _pairs(node: yaml.Node | None, path: Path, otherwise: str) -> Iterator[tuple[str, yaml.Node, str]]:
    """Yield name, value and place of each entry of a mapping, each name once. Raises `otherwise` if it is none."""
    import yaml

    if not isinstance(node, yaml.MappingNode):
        raise UsageError(otherwise)
    lines: dict[str, int] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):  # whose text could be long: aliases are written out
            raise UsageError(f"{path}, line {line}: a setting has a name; {HINT}")
        name = str(key.value)
        if name in lines:
            raise UsageError(f"{path}, line {line}: {name} is given already, in line {lines[name]}")
        lines[name] = line
        yield name, value, f"{path}, line {line}"


def _value(full: str, kind: type, node: yaml.Node, place: str) -> Any:
    """Return the value of a setting that a node holds. Raises a `UsageError` if the type does not allow the value."""
    import yaml

    hint = hints_of(kind)[_last_name(full)]
    listed = node.value if isinstance(node, yaml.SequenceNode) and get_origin(hint) is tuple else [node]
    if not all(isinstance(item, yaml.ScalarNode) for item in listed):
        raise UsageError(f"{place}: {full} {refusal(full, hint, None, 'several values')}")
    text = ",".join(str(item.value) for item in listed)
    if isinstance(node, yaml.ScalarNode):
        if node.style is not None and fits(hint, text):  # in quotes: 'null' is a text
            return text
        if node.style is None and text == "" and fits(hint, None):
            return None
    try:
        return parsed(hint, text)
    except ValueError as error:
        raise UsageError(f"{place}: {full} {refusal(full, hint, text, text or 'nothing')}") from error
