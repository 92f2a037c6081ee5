"""An `argparse` parser whose errors are one line with a hint, and whose options take `-` and `_` alike."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from wordtie.errors import UsageError, did_you_mean

NEGATIVE = re.compile(r"-(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
"""A negative number, which is a value and no option; Python 3.11's own pattern lacks the exponent."""


def option(name: str) -> str:
    """Return the option for a name: `--max-time` for `max_time`."""
    return "--" + name.replace("_", "-")


def kebab(argument: str) -> str:
    """Return `--max-time=9m` for `--max_time=9m`; anything but an option is returned unchanged."""
    name, equals, value = argument.partition("=")
    is_option = name.startswith("--") and " " not in name
    return (name.replace("_", "-") + equals + value) if is_option else argument


class Parser(argparse.ArgumentParser):
    """`argparse` with errors as `UsageError`, and the help text printed as it was written."""

    def __init__(self, command: str, help_text: str, **more: Any) -> None:
        super().__init__(
            prog=f"wordtie {command}",
            description=help_text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **more,
        )
        self._negative_number_matcher = NEGATIVE

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing and leaving, so that the command line reports every error alike."""
        raise UsageError(message if message.endswith("?") else f"{message}; see `{self.prog} --help`")

    def parse_args(self, args: Sequence[str]) -> argparse.Namespace:  # type: ignore[override]
        """Parse, with options before, between or after the arguments; an unknown one is answered with the nearest."""
        end = args.index("--") if "--" in args else len(args)
        given = [*map(kebab, args[:end]), *args[end:]]
        parsed, unknown = self.parse_known_args(given)
        if unknown and "--" not in args and not any(each.startswith("-") for each in unknown):
            parsed, unknown = self.parse_known_intermixed_args(given)
        if options := [each.partition("=")[0] for each in unknown if each.startswith("-")]:
            self.error(f"unknown option {options[0]}{did_you_mean(options[0], self.options())}")
        if unknown:
            self.error(f"unexpected argument {unknown[0]}")
        return parsed

    def options(self) -> list[str]:
        """Return the names of the command's own options."""
        return [string for action in self._actions for string in action.option_strings]


def whole_number(text: str) -> int:
    """An `argparse` type: an integer of at least 1."""
    if not re.fullmatch(r"0*[1-9]\d*", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text}")
    return int(text)


def seed(text: str) -> int:
    """An `argparse` type: a number that can seed a random generator."""
    if not re.fullmatch(r"\d+", text, re.ASCII) or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to 2^63 - 1, got {text}")
    return int(text)
