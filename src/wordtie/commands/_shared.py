"""What the commands have in common: an argument parser that raises, text in, JSON and tables out."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO, NoReturn

from wordtie.config.paths import path_of
from wordtie.console import tell
from wordtie.data.reading import Source, byte_blocks, decoded, opened
from wordtie.errors import WordtieError, did_you_mean


class UsageError(WordtieError):
    """The command line does not say what to do."""


class Parser(argparse.ArgumentParser):
    """`argparse`, with its errors as `UsageError` and the help text printed as it was written."""

    def __init__(self, command: str, help_text: str) -> None:
        super().__init__(
            prog=f"wordtie {command}",
            description=help_text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing and leaving, so that the command line reports every error alike."""
        raise UsageError(f"{message}{meant(self, message)}; see `{self.prog} --help`")


def meant(parser: argparse.ArgumentParser, message: str) -> str:
    """The nearest options, where a message is of some that there are not."""
    options = re.findall(r"--([\w.-]+)", message) if message.startswith("unrecognized") else []
    known = [string for action in parser._actions for string in action.option_strings]
    return "".join(did_you_mean(f"--{option.replace('-', '_')}", known) for option in options)


def whole_number(text: str) -> int:
    """An `argparse` type: an integer of at least 1."""
    if not re.fullmatch(r"0*[1-9]\d*", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text}")
    return int(text)


def seed(text: str) -> int:
    """An `argparse` type: what random numbers can be begun with."""
    if not re.fullmatch(r"\d+", text, re.ASCII) or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to 2^63 - 1, got {text}")
    return int(text)


def stdin() -> BinaryIO:
    """Standard input's bytes. Raises `UsageError` where it is closed."""
    if sys.stdin is None:
        raise UsageError("standard input is closed: name a FILE")
    return sys.stdin.buffer


def text_name(path: str) -> str:
    """What messages call a text that is given by its path, or as `-`."""
    return "stdin" if path == "-" else path


def read_lines(path: str) -> Iterator[str]:
    """The lines of a UTF-8 file (plain or .gz), or of stdin for `-`, without their ends.

    Raises `DataError` with the file, and the line where there is one.
    """
    name = text_name(path)
    with opened(Source(path_of(name), handle=stdin() if path == "-" else None)) as handle:
        for number, block in byte_blocks(handle, name, hint="cut it into shorter lines"):
            yield from decoded(block, name, number, begins=number == 1).removesuffix("\n").split("\n")


def say(notes: Iterable[str]) -> None:
    """Tell, on stderr, what someone may not have meant."""
    for note in notes:
        tell(f"note: {note}")


def print_json(value: object) -> None:
    """One JSON object, with words in any script left readable."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def print_json_list(items: Iterable[object]) -> None:
    """As `print_json` prints a list, but item by item: however many there are, one is held at a time."""
    before = "["
    for item in items:
        print(before, *json.dumps(item, ensure_ascii=False, indent=2).split("\n"), sep="\n  ", end="")
        before = ","
    print("[]" if before == "[" else "\n]")


def print_tsv(header: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """A header and one tab-separated line a row; floats with six decimals, truth as 1 or 0, None as nothing."""
    print("\t".join(header))
    for row in rows:
        print("\t".join(_cell(row[name]) for name in header))


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if value is None:
        return ""
    return f"{value:.6f}" if isinstance(value, float) else re.sub(r"[\t\r\n]+", " ", str(value))
