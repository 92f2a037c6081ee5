"""`wordtie.config` as command-line options: YAML recipes, typed overrides, and errors of one line.

The help of an option is the docstring under its field.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

import jsonargparse
import yaml

from wordtie.commands._shared import UsageError, meant
from wordtie.config import SECTIONS, Settings
from wordtie.config.paths import path_of
from wordtie.data.catalogue import CATALOGUE
from wordtie.errors import SettingsError, did_you_mean

LONGEST_RECIPE = 100_000
"""Bytes; `--print_config` writes about 3 kB."""


class HelpFormatter(jsonargparse.DefaultHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Types and defaults in the help of each setting; the examples as they were written."""


class SettingsParser(jsonargparse.ArgumentParser):
    """Options for every field of the sections of `Settings` that are named."""

    def __init__(self, command: str, help_text: str, usage: str, sections: Sequence[str]) -> None:
        super().__init__(
            prog=f"wordtie {command}",
            description=help_text,
            usage=f"wordtie {command} {usage}",
            formatter_class=HelpFormatter,
            print_config=None,
            allow_abbrev=False,
        )
        self.add_argument("corpus", nargs="?", help="The same as --data.corpus.")
        self.sections = {name: get_type_hints(Settings)[name] for name in sections}
        self.places: dict[str, str] = {}
        """Where a recipe sets what no option after it does: `model.hidden` to `my.yaml, line 3`."""

    def add_settings(self) -> None:
        """Add `--config` and the options of the settings, after the command's own."""
        jsonargparse.set_parsing_settings(docstring_parse_attribute_docstrings=True)
        self.add_argument("--config", action="config", help="A YAML recipe; options after it win.")
        for name, section in self.sections.items():
            self.add_class_arguments(section, name)
            self._option_string_actions[f"--{name}"].help = "A YAML file of these settings alone, without a heading."
        for name in self._others():  # so that any recipe can be given
            self.add_argument(f"--{name}", type=dict | None, default=None, help=argparse.SUPPRESS)

    def _others(self) -> set[str]:
        """The sections that a recipe may have and the command has no use for."""
        return (SECTIONS.keys() | {"word2vec"}) - self.sections.keys()

    def parse_args(self, args: Sequence[str]) -> jsonargparse.Namespace:  # type: ignore[override]
        """As `argparse`, after a look at the recipes, and at settings that the command has no use for.

        What help and Python call None may be given so, too; YAML calls it null.
        """
        args = [re.sub(r"^(--\w+\.\w+=)None$", r"\1null", argument) for argument in args]
        args = ["null" if arg == "None" and "." in before else arg for before, arg in pairwise(["", *args])]
        for argument, after in zip(args, [*args[1:], None], strict=True):
            option, equals, value = argument.partition("=")
            if option.startswith("--"):
                self._look_at(option.removeprefix("--"), value if equals else after)
        return super().parse_args(args).clone(with_meta=False)

    def _look_at(self, option: str, value: str | None) -> None:
        """Keep where the settings come from that the option gives; it wins over what stands before it.

        Raises a `UsageError` for a recipe that is none, and for settings that the command has no use for.
        """
        section, _, setting = option.partition(".")
        if section in self._others():
            raise UsageError(f"--{option}: `{self.prog}` has no {section} settings")
        if setting:
            self.places.pop(option, None)
        elif value is not None and option == "config":
            self.places |= _check_recipe(value)
        elif value is not None and section in self.sections:
            self.places |= _check_section(value, section, self.sections[section])

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Raise a `UsageError` of one line; an unknown option is told the nearest one."""
        line = " ".join(re.sub(r"<class '(\w+)'>|typing\.", r"\1", message).split()).replace("Expected a ", "expected ")
        line = re.sub(r'^Parser key "\w+": Unable to load config .*? - (?=Parser key "\w+\.)', "", line)
        line = re.sub(r'Parser key "([\w.]+)":', r"\1:", line)
        line = re.sub(r"Does not validate .*Subtypes: \[(.+?)\] Errors:.*Given value: ", _choices, line)
        line = re.sub(
            r"^(\w+): Unable to load config ('.*?') .*",
            r"--\1 takes a recipe of that section, got \2; a setting in it is given as --\1.NAME VALUE",
            line,
        )
        line += "; give it as '[0.9,0.05,0.05]'" if line.startswith("data.split") else ""
        raise UsageError(f"{self._place(line)}{line}{meant(self, line)}; see `{self.prog} --help`") from ex

    def _place(self, message: str) -> str:
        """The recipe and the line that the setting comes from which the message begins with; empty for an option."""
        place = self.places.get(re.split(r"[:\s]", message, maxsplit=1)[0])
        return f"{place}: " if place else ""

    @contextmanager
    def said_by_place(self) -> Iterator[None]:
        """Around what makes settings: a `SettingsError` names the recipe and the line, where there is one."""
        try:
            yield
        except SettingsError as error:
            raise SettingsError(f"{self._place(str(error))}{error}") from error

    def settings(self, parsed: jsonargparse.Namespace) -> Settings:
        """Build the settings from what was parsed; a positional `corpus` wins over --data.corpus.

        Raises `SettingsError` for what makes no sense together.
        """
        values = {name: parsed[name].as_dict() for name in self.sections}
        if parsed.corpus is not None:
            values["data"]["corpus"] = parsed.corpus
        with self.said_by_place():
            return Settings(**{name: section(**values[name]) for name, section in self.sections.items()})


def _choices(found: re.Match[str]) -> str:
    """What a setting of several types may be, from their names: `expected int or null, got `."""
    names = re.sub(r"Literal\[(.+?)\]", r"\1", found[1]).replace("NoneType", "null")
    return f"expected {' or '.join(names.rsplit(', ', 1))}, got "


def _check_recipe(name: str) -> dict[str, str]:
    """Where the recipe's settings stand, `model.hidden` in `my.yaml, line 3`.

    Raises a `UsageError` for a recipe that is none: only sections of settings, each with names of its own.
    """
    if not name:
        raise UsageError("--config is empty: name a recipe")
    path = path_of(name)
    text = _read(path)
    found = _loaded(text, str(path), "`wordtie train --print_config` writes a recipe")
    sections = (*SECTIONS, "word2vec")
    if not isinstance(found, dict) or not all(isinstance(values, dict) for values in found.values()):
        raise UsageError(
            f"{path}: a recipe has sections ({', '.join(sections)}) with settings in them, as "
            "`wordtie train --print_config` writes it"
        )
    for name in found.keys() - set(sections):
        raise UsageError(f"{path}: {name} is no section of a recipe ({', '.join(sections)}): give it as an option")
    for section, kind in SECTIONS.items():
        _check_known(str(path), section, kind, found.get(section, {}))
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    for node in (root, *(values for _, values in root.value)):
        _check_said_once(str(path), node)
    return {
        f"{section.value}.{key.value}": f"{path}, line {key.start_mark.line + 1}"
        for section, values in root.value
        for key, _ in values.value
    }


def _check_section(value: str, section: str, kind: type) -> dict[str, str]:
    """As `_check_recipe`, for `--SECTION FILE`, or for what such a file says in place of its name.

    What is neither is left to the parser, which says what the option takes.
    """
    is_file = not value.lstrip().startswith("{") and path_of(value).is_file()
    where, text = (value, _read(path_of(value))) if is_file else (f"--{section}", value)
    hint = f"--{section} takes a recipe of that section, and --{section}.NAME VALUE gives one setting"
    found = _loaded(text, where, hint)
    if not isinstance(found, dict):
        return {}
    _check_known(where, section, kind, found)
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    _check_said_once(where, root)
    lines = {f"{section}.{key.value}": f"{where}, line {key.start_mark.line + 1}" for key, _ in root.value}
    return lines if is_file else dict.fromkeys(lines, "")


def _read(path: Path) -> str:
    """The text of a recipe. Raises a `UsageError` where there is none."""
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST_RECIPE + 1)
        if len(content) > LONGEST_RECIPE:
            raise UsageError(f"{path}: is longer than {LONGEST_RECIPE // 1000} kB: is it a recipe?")
        return content.decode("utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text: is it a recipe?") from error


def _loaded(text: str, where: str, hint: str) -> Any:
    """What the YAML says. Raises a `UsageError` with a hint if it is not YAML."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date that there is not; too deeply nested
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise UsageError(f"{where}{line}: not YAML; {hint}") from error


def _check_known(where: str, section: str, kind: type, names: Iterable[object]) -> None:
    """Raise a `UsageError` for a name that is no setting of the section."""
    known = [field.name for field in dataclasses.fields(kind)]
    for name in names:
        if name not in known:
            raise UsageError(f"{where}: {section} has no setting {name}{did_you_mean(str(name), known)}")


def _check_said_once(where: str, node: yaml.Node) -> None:
    """Raise a `UsageError` for a name that stands there twice: YAML would take the last, and not say so."""
    lines: dict[str, int] = {}
    for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
        line = key.start_mark.line + 1
        if key.value in lines:
            raise UsageError(f"{where}, line {line}: {key.value} stands there already, in line {lines[key.value]}")
        lines[key.value] = line


def as_yaml(recipe: Mapping[str, Any]) -> str:
    """A recipe, by sections, as `--config` reads it back."""
    return str(yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True))


def default_folder(corpus: str, ending: str = "") -> Path:
    """`ptb` → runs/ptb, `texts/novel.txt` → runs/novel, `../mine/` → runs/mine."""
    return Path("runs") / f"{Path(corpus).resolve().name.removesuffix('.txt')}{ending}"


def another_of_its_name(corpus: str) -> list[str]:
    """A note where a corpus known by name is taken, and one's own file or folder of that name is not."""
    taken = corpus in CATALOGUE and Path(corpus).exists()
    return [f"{corpus} is the corpus that `wordtie corpora` lists; for what lies here give ./{corpus}"] if taken else []
