"""Shared by the commands: an argument parser that raises, text in, JSON and tables out."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import BinaryIO

from wordtie.config.arguments import Parser as Parser
from wordtie.config.arguments import seed as seed
from wordtie.config.arguments import whole_number as whole_number
from wordtie.config.paths import path_of
from wordtie.data.reading import LONGEST_LINE, Source, byte_blocks, decoded, opened
from wordtie.errors import UsageError as UsageError
from wordtie.evaluation.format_perplexity import format_number
from wordtie.storage.atomic import atomic_write

SHORT = 2_000
"""Characters of a text that numpy alone scores in the time that it takes to import torch."""


def add_part(parser: Parser) -> None:
    """Add the option that opens a part of a model."""
    parser.add_argument(
        "--part",
        choices=["network", "ngram", "without-recent"],
        help="this part alone of a network that n-grams are mixed into, or both without recent words",
    )


def one_thread_for_numpy() -> None:
    """Keep numpy to one thread; call before numpy is imported. Products for a few words are small, so that more threads
    would only be started and waited for. Torch has threads of its own."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def add_export(parser: Parser, out: str = "the file to write") -> None:
    """Add the arguments of every form of `wordtie export`."""
    parser.add_argument("run", metavar="RUN", help="a trained model: a run folder, or `en`")
    parser.add_argument("out", metavar="OUT", help=out)
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier export")
    parser.add_argument("--json", action="store_true", help="print a JSON object")


def natural_number(text: str) -> int:
    """An `argparse` type: an integer of at least 0."""
    if not re.fullmatch(r"\d+", text, re.ASCII):
        raise ArgumentTypeError(f"must be a whole number of at least 0, got {text}")
    return int(text)


def stdin() -> BinaryIO:
    """Return standard input as a binary file. Raises `UsageError` if it is closed."""
    if sys.stdin is None:
        raise UsageError("standard input is closed: name a FILE")
    return sys.stdin.buffer


def check_stdin_once(*paths: str | None) -> None:
    """Raise `UsageError` if several of the paths that a command reads are `-`: each would get a part of stdin."""
    if paths.count("-") > 1:
        raise UsageError("stdin (-) can be read once, and two inputs are read from it: name a file for one")


def text_name(path: str) -> str:
    """Return the name in messages of a text that is given by its path, or as `-`."""
    return "stdin" if path == "-" else path


def read_lines(path: str, longest: int = LONGEST_LINE) -> Iterator[str]:
    """Yield the lines of a UTF-8 file (plain or .gz; `-`: stdin), without their ends; at most `longest` bytes each.

    Raises a `DataError` that names the file, and the line if there is one.
    """
    name = text_name(path)
    with opened(Source(path_of(name), handle=stdin() if path == "-" else None)) as handle:
        for number, block in byte_blocks(handle, name, longest=longest, hint="cut it into shorter lines"):
            yield from decoded(block, name, number, begins=number == 1).removesuffix("\n").split("\n")


def print_json(value: object) -> None:
    """Print one JSON value, with words in any script left readable."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def print_json_list(items: Iterable[object]) -> None:
    """Print a list as `print_json` does, but item by item, so that only one is held in memory at a time."""
    before = "["
    for item in items:
        print(before, *json.dumps(item, ensure_ascii=False, indent=2).split("\n"), sep="\n  ", end="")
        before = ","
    print("[]" if before == "[" else "\n]")


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]], dialect: str = "excel-tab") -> None:
    """Print a header and one line per row; floats as `format_number` has them, booleans as 1 or 0, None as nothing.
    Cells are quoted where necessary, so that R and pandas read them without options."""
    writer = csv.writer(sys.stdout, dialect, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(map(_text, row) for row in rows)


def print_tsv(header: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Print a table of rows by name, as `print_table` does; tabs and line ends within a cell become blanks."""
    print_table(header, ([_cell(row[name]) for name in header] for row in rows))


@contextmanager
def printing_to(path: str | None) -> Iterator[None]:
    """Redirect what is printed to a file, which is written whole or not at all; None: leave it on stdout.

    Raises `UsageError` for the name of a compressed file, `SaveError` if it cannot be written.
    """
    if path is None:
        yield
        return
    if path.endswith((".gz", ".zip")):
        raise UsageError(f"--out {path}: tables are not compressed: leave the ending out, or pipe them into gzip")
    with (
        atomic_write(path_of(path)) as new,
        new.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
        redirect_stdout(file),
    ):
        yield


def _cell(value: object) -> str:
    return re.sub(r"[\t\r\n]+", " ", _text(value))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if value is None:
        return ""
    return format_number(value) if isinstance(value, float) else str(value)
