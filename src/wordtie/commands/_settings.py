"""`wordtie.config` as command-line options: YAML recipes, typed overrides, and errors of one line.

The help of an option is the docstring under its field.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import re
from collections.abc import Sequence
from typing import Any, NoReturn, get_type_hints

import jsonargparse
import yaml

from wordtie.commands._shared import UsageError
from wordtie.config import DataSettings, Settings, to_dict


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
        )
        self.add_argument("corpus", nargs="?", help="The same as --data.corpus.")
        self.sections = {name: get_type_hints(Settings)[name] for name in sections}

    def add_settings(self) -> None:
        """Add `--config` and the options of the settings, after the command's own."""
        jsonargparse.set_parsing_settings(docstring_parse_attribute_docstrings=True)
        self.add_argument("--config", action="config", help="A YAML recipe; options after it win.")
        for name, section in self.sections.items():
            self.add_class_arguments(section, name)
        self.set_defaults({"data.min_count": None})  # so that what was not given can be told from 1
        for field in dataclasses.fields(Settings):
            if field.name not in self.sections:  # so that any recipe can be given, and its other sections pass
                self.add_argument(f"--{field.name}", type=dict | None, default=None, help=argparse.SUPPRESS)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Raise a `UsageError` of one line; an unknown option is told the nearest one."""
        line = " ".join(re.sub(r"<class '(\w+)'>|typing\.", r"\1", message).split()).replace("Expected a ", "expected ")
        line = re.sub(r'Parser key "([\w.]+)":', r"\1:", line)
        for option in re.findall(r"--[\w.]+", line) if line.startswith("unrecognized") else []:
            known = [string for action in self._actions for string in action.option_strings]
            near = difflib.get_close_matches(option, known, n=1)
            line += f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"{line}; see `{self.prog} --help`") from ex

    def settings(self, parsed: jsonargparse.Namespace) -> Settings:
        """Build the settings from what was parsed; a positional `corpus` wins over --data.corpus.

        Raises `SettingsError` for what makes no sense together.
        """
        values = {name: parsed[name].as_dict() for name in self.sections}
        if parsed.corpus is not None:
            values["data"]["corpus"] = parsed.corpus
        if values["data"]["min_count"] is None:
            values["data"]["min_count"] = _least_count(values["data"])
        return Settings(**{name: section(**values[name]) for name, section in self.sections.items()})


def _least_count(data: dict[str, Any]) -> int:
    """`data.min_count` where nobody gave it: the named corpus's own, unless a vocabulary size decides."""
    from wordtie.text.catalogue import CATALOGUE

    entry = CATALOGUE.get(data["corpus"])
    return DataSettings.min_count if entry is None or data["vocabulary_size"] is not None else entry.min_count


def as_yaml(settings: Settings) -> str:
    """The settings as a recipe that `--config` reads back."""
    return str(yaml.safe_dump(to_dict(settings), sort_keys=False, allow_unicode=True))
