"""What the commands have in common: an argument parser that raises, text in, JSON and tables out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from wordtie.errors import DataError, WordtieError


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
        raise UsageError(f"{message}; see `{self.prog} --help`")


def whole_number(text: str) -> int:
    """An `argparse` type: an integer of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def read_lines(path: str) -> list[str]:
    """The lines of a UTF-8 file, or of stdin for `-`, without their ends.

    Raises `DataError` with the file, and the line where there is one.
    """
    name = "stdin" if path == "-" else path
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{name}, line {line}: not UTF-8; convert it with `iconv -t utf-8`") from error
    return text.removesuffix("\n").replace("\r\n", "\n").split("\n") if text else []


def print_json(value: object) -> None:
    """One JSON object, with words in any script left readable."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def print_tsv(header: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """A header and one tab-separated line a row; floats with six decimals, true and false as 1 and 0."""
    print("\t".join(header))
    for row in rows:
        print("\t".join(_cell(row[name]) for name in header))


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.6f}" if isinstance(value, float) else str(value)
