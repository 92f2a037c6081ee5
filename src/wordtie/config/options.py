"""Settings as command-line options: names, types, help and errors all come from the dataclasses of `wordtie.config`.

Later arguments win over earlier ones, and a `--config` counts as all that its recipe says. Each value keeps the place
it comes from, so that an error found only once all settings are known still names the option, or the recipe's line.
"""

from __future__ import annotations

import argparse
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wordtie.config import SECTIONS
from wordtie.config.arguments import Parser, kebab, option
from wordtie.config.help import all_settings, common_settings, one_setting
from wordtie.config.names import Names
from wordtie.config.recipes import Given, read_recipe
from wordtie.config.values import described, hints_of, parsed, parts_of, refusal
from wordtie.errors import SettingsError, UsageError


class SettingsParser(Parser):
    """A command's own options, and one for every setting of the sections that it uses.

    `others` are sections that a recipe may have and the command ignores; `common` are the settings that `--help` shows;
    `taken` has what the command takes in place of a default, where there is no recipe: the help says so.
    """

    def __init__(
        self,
        command: str,
        help_text: str,
        usage: str,
        sections: Mapping[str, type],
        common: Sequence[str] = (),
        others: Mapping[str, type] | None = None,
        taken: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(command, help_text, usage=f"wordtie {command} {usage}", add_help=False)
        self.sections = dict(sections)
        self.all_sections = {**sections, **SECTIONS, **(others or {})}
        self.names = Names(self.sections, option, "option")
        self.taken = taken or {}
        self.common = [self.names.find(name) for name in common]
        self.given: dict[str, Given] = {}
        self.has_recipe = False
        self.add_argument("corpus", nargs="?", help=argparse.SUPPRESS)
        self.add_argument("-h", "--help", nargs="?", metavar="SETTING", action=_Help, help="Show this, or one setting.")
        self.add_argument("--help-all", nargs=0, action=_Help, help="Show every setting.")
        self.add_argument("--config", metavar="RECIPE", help="Read settings from a YAML file; what comes later wins.")

    def format_help(self) -> str:
        """The short help: examples, the command's own options, the most used settings."""
        return "\n".join([super().format_help(), common_settings(self.names, self.common, self.taken), ""])

    def parse_args(self, args: Sequence[str]) -> argparse.Namespace:  # type: ignore[override]
        """Take out the settings, which `made` makes objects of, and let `argparse` parse the rest."""
        self.names.taken = self.options()
        own: list[str] = []
        queue = deque(args)
        while queue and queue[0] != "--":
            argument = queue.popleft()
            name, equals, text = argument.partition("=")
            name = kebab(name)
            if argument in ("-h", "--help") and queue and queue[0].startswith("-") and queue[0] != "--":
                own.append(f"--help={queue.popleft()}")  # the option to explain, which is not to be taken
                continue
            if not name.startswith("--") or " " in name or (name in self.options() and name != "--config"):
                own.append(argument)
                continue
            follows = queue and not queue[0].startswith("--")
            value = text if equals else queue.popleft() if follows else None
            if name == "--config":
                self._add_recipe(value)
            else:
                self._add_setting(name, value)
        parsed_own = super().parse_args([*own, *queue])
        if parsed_own.corpus is not None:
            other = self.given.get("data.corpus")
            if other is not None and not other.from_recipe and other.value != parsed_own.corpus:
                raise UsageError(f"{parsed_own.corpus} and --corpus {other.value} are two texts: give one of them")
            self.given["data.corpus"] = Given(parsed_own.corpus, "")
        return parsed_own

    def value(self, name: str) -> Any:
        """Return the value that was given for a setting, by full name; None if none was."""
        return self.given[name].value if name in self.given else None

    def require_text(self) -> None:
        """Raise `UsageError` if no text is named: hours of training on the default corpus would surprise."""
        if "data.corpus" not in self.given:
            self.error(f"name a text: `{self.prog} novel.txt`, or a corpus that `wordtie corpora` lists")

    def made(self, otherwise: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Make the settings by section; `otherwise` has values, by full name, for those that were not given.

        Raises `SettingsError` for invalid values and combinations.
        """
        values: dict[str, dict[str, Any]] = {section: {} for section in self.sections}
        for full, value in {**(otherwise or {}), **{full: given.value for full, given in self.given.items()}}.items():
            section, _, setting = full.partition(".")
            if section in values:
                values[section][setting] = value
        return {section: self.with_place(kind, **values[section]) for section, kind in self.sections.items()}

    def with_place(self, make: Callable[..., Any], **values: Any) -> Any:
        """Make settings; a `SettingsError` gets the place of the first setting that it names."""
        try:
            return make(**values)
        except SettingsError as error:
            named = re.findall(r"\b[a-z]\w*\.\w+", str(error))
            place = next((self.given[name].place for name in named if name in self.given), "")
            raise SettingsError(f"{place}: {error}" if place else str(error)) from error

    def _add_recipe(self, file: str | None) -> None:
        """Keep the settings of a recipe."""
        if not file:
            self.error("--config needs a value: the file of a recipe")
        self.has_recipe = True
        self.given |= read_recipe(file, self.all_sections)

    def _add_setting(self, typed: str, text: str | None) -> None:
        """Keep the setting that an option gives."""
        name = typed[2:].replace("-", "_")
        switch = self.names.switch(name)
        full = switch[0] if switch else self._full_name(name)
        section, _, setting = full.partition(".")
        hint = bool if switch else hints_of(self.sections[section])[setting]
        if text is None and bool not in parts_of(hint):
            self.error(f"{typed} needs a value: {described(hint)}")
        try:
            value = True if text is None else parsed(hint, text)
        except ValueError:
            alone = f"; alone it means true: put it last, or give {typed}=true" if bool in parts_of(hint) else ""
            self.error(f"{typed} {refusal(full, hint, text, str(text))}{alone}")
        if switch:
            value = switch[1] if value else switch[2]
        self.given[full] = Given(value, "" if typed == option(full) else typed)

    def _full_name(self, name: str) -> str:
        """Return the full name of an option's setting. Raises `UsageError` if there is none, or several."""
        section, dot, _ = name.partition(".")
        if section in self.all_sections and section not in self.sections:
            raise UsageError(f"{option(name)}: `{self.prog}` has no {section} settings")
        if section in self.sections and not dot:
            raise UsageError(
                f"{option(name)} is a section: give one of its settings as {option(name)}.NAME VALUE, or a recipe with "
                "--config"
            )
        try:
            return self.names.find(name)
        except SettingsError as error:
            self.error(str(error))


class _Help(argparse.Action):
    """Print the short help, that of one option or setting, or that of all, and stop."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: object, values: Any, typed: str | None = None
    ) -> None:
        assert isinstance(parser, SettingsParser)
        if typed == "--help-all":
            print(f"{super(SettingsParser, parser).format_help()}\n{all_settings(parser.names, parser.taken)}")
        elif isinstance(values, str):
            print(_about_one(parser, values.partition("=")[0].lstrip("-")))
        else:
            print(parser.format_help(), end="")
        parser.exit()


def _about_one(parser: SettingsParser, name: str) -> str:
    """Return the help of a setting, or the line of `--help` for an option that is none."""
    own = next((each for each in parser._actions if option(name) in each.option_strings), None)
    if own is None:
        return one_setting(parser.names, parser.names.find(name.replace("-", "_")), parser.taken)
    formatter = parser._get_formatter()
    formatter.add_argument(own)
    return formatter.format_help().strip()
