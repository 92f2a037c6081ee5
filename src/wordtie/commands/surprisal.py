"""`wordtie surprisal`: how surprising each word of a text is, in bits."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, repeat, tee
from typing import TYPE_CHECKING, Any, TypeAlias

from wordtie.commands._shared import (
    SHORT,
    Parser,
    UsageError,
    add_part,
    check_stdin_once,
    one_thread_for_numpy,
    print_json_list,
    print_table,
    printing_to,
    read_lines,
    text_name,
    whole_number,
)
from wordtie.config.paths import is_same_file
from wordtie.console import StageProgress, say
from wordtie.data.table import Row, read_table
from wordtie.errors import DataError, WordtieError

if TYPE_CHECKING:
    from wordtie.inference.frequencies import Frequencies
    from wordtie.inference.loading import LoadedModel
    from wordtie.inference.regions import Values

HELP = """\
Print the surprisal of every word of a text.

Tokens, or regions (--per region: words as shown, `surprisal_bits` added up over their parts), one per line of the
output. A table keeps its columns; a table with a word per row (--words) keeps its rows. Columns that are added:
  line, region             line of the text or row of the table, and word as shown, both from 1
  surprisal_bits           -log2 p(word | words before it); word_surprisal_bits: without punctuation
  oov                      1 if (a part of) the word is not in the vocabulary and is scored as <unk>
  entropy_bits             uncertainty before the word; entropy_reduction_bits: less the uncertainty after it
  position, word, id       of tokens (no id in tables)
  word_length, log_frequency, ..._prev1: of regions (_prev1: of the region before)

examples:
  wordtie surprisal runs/ptb sentences.txt > surprisal.tsv
  echo "the cat sat on the mat" | wordtie surprisal runs/ptb
  wordtie surprisal runs/ptb items.csv --column sentence --per region --out items.tsv
  wordtie surprisal runs/ptb times.tsv --words word --by subject,item --out joined.tsv
  wordtie surprisal runs/seed-1 runs/seed-2 items.csv --column sentence --per region --mean
"""

MOST_BLANK_LINES = 10_000_000
"""Most blank lines before the first word: a small .gz file may hold far more."""
MOST_BLANK_ROWS = 1_000_000
"""Most rows of a table before the first word; they are held in memory for their other cells."""
RESET = (
    "context starts afresh at each line, after blank lines (with --words: where a column of --by but the last "
    "changes), or never"
)
Printed: TypeAlias = tuple[list[str], Iterator[list[Any]]]
"""Names of the columns, and rows."""


def main(argv: list[str]) -> None:
    """Score a file or stdin."""
    arguments = parse(argv)
    one_thread_for_numpy()

    from wordtie.inference.loading import load

    models = [load(run, part=arguments.part, without_torch=True) for run in arguments.runs]
    short, lines = is_short(read_lines(arguments.file))
    for number, run in enumerate([] if short else arguments.runs):
        if models[number].is_in_numpy:  # an unusable run was refused before waiting for the text
            models[number] = load(run, part=arguments.part)
    arguments.counts = None if arguments.per == "token" else frequencies_of(models[0], arguments.frequencies)
    source = of_words if arguments.words else of_column if arguments.column else of_text
    header, rows = source(models, lines, arguments)
    with printing_to(arguments.out):
        if arguments.json:
            check_distinct(header, arguments.file)
            print_json_list(dict(zip(header, row, strict=True)) for row in rows)
        else:
            is_csv = (arguments.out or "").lower().endswith(".csv")
            print_table(header, rows, "excel" if is_csv else "excel-tab")
    say(not_counted(arguments.counts, arguments.frequencies))


def check_distinct(columns: Sequence[str], file: str) -> None:
    """Raise `DataError` if a JSON object could not have all of these columns."""
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{text_name(file)}, line 1: has several columns {twice}, JSON only one: rename all but one")


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse the command line. Raises `UsageError`."""
    parser = Parser("surprisal", HELP, usage="wordtie surprisal RUN [RUN ... --mean] [FILE] [OPTION ...]")
    add = parser.add_argument
    add(
        "paths",
        metavar="RUN, FILE",
        nargs="+",
        help="run folders, ARPA files or `en`, and a UTF-8 text or table (stdin)",
    )
    add("--column", metavar="NAME", help="FILE is a table (CSV, tabs, JSON Lines) with a sentence per row, here")
    add("--words", metavar="NAME", help="FILE is a table with a word per row, in this column")
    add("--by", metavar="NAMES", help="with --words: columns that identify a sentence, comma-separated")
    add("--per", choices=["token", "region"], help="one row for each token, or word as shown (token)")
    add("--mark", metavar="CHARACTER", help="what separates regions in the text, such as '|' (white space)")
    add("--spillover", type=whole_number, default=0, metavar="N", help="add the values of the N regions before")
    add("--frequencies", metavar="FILE", help="a table with columns word and count (training text)")
    add("--reset", choices=["line", "blank", "never"], default="line", help=RESET)
    add("--mean", action="store_true", help="mean and standard deviation (_sd) of several RUNs")
    add("--prefix", default="", help="put before the names of added columns, say lstm_")
    add("--out", metavar="FILE", help="write here: tabs, or commas if it ends in .csv (stdout)")
    add("--json", action="store_true", help="print a JSON list")
    add_part(parser)
    arguments: argparse.Namespace = parser.parse_args(argv)
    paths = arguments.paths
    if arguments.mean and len(paths) < 3:
        raise UsageError("--mean needs several RUNs and a FILE after them; - is stdin")
    if not arguments.mean and len(paths) > 2:
        raise UsageError(f"unexpected argument {paths[2]}: several RUNs need --mean")
    arguments.runs = paths[:-1] if len(paths) > 1 else paths
    arguments.file = paths[-1] if len(paths) > 1 else "-"
    check(arguments)
    return arguments


def check(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` for options that make no sense together."""
    for read in filter(None, (arguments.file, arguments.frequencies, *arguments.runs)):
        if arguments.out and is_same_file(arguments.out, read):
            raise UsageError(f"--out {arguments.out}: is a file that is read: write into another one")
    check_stdin_once(arguments.file, arguments.frequencies)
    if arguments.mark == "":
        raise UsageError("--mark is empty: give the character that parts regions, or leave it out for white space")
    if arguments.column and arguments.words:
        raise UsageError("--column is for a table with a sentence per row, --words for a word per row: give one")
    if bool(arguments.words) != bool(arguments.by):
        missing = "--by, the columns that tell sentences apart" if arguments.words else "--words, the column of words"
        raise UsageError(f"a table with a word per row needs both --words and --by: add {missing}")
    if arguments.column and arguments.reset == "blank":
        raise UsageError("rows have no blank lines between: write a passage into one cell, a sentence a line")
    if arguments.words and arguments.reset == "never":
        raise UsageError("--reset never does not go with --words: --reset blank keeps context within a passage")
    if arguments.words and (arguments.per == "token" or arguments.mark):
        raise UsageError("with --words, the rows are the regions: leave --per and --mark out")
    arguments.per = "region" if arguments.words else arguments.per or "token"
    if arguments.per == "token":
        for name in ("mark", "spillover", "frequencies"):
            if getattr(arguments, name):
                raise UsageError(f"--{name} is for regions: add --per region")


def of_text(models: Sequence[LoadedModel], given: Iterator[str], arguments: argparse.Namespace) -> Printed:
    """Return the columns and rows for a plain text."""
    from wordtie.data.input_warnings import SAMPLE, of_columns, refuse_table

    name = text_name(arguments.file)
    lines = counted(lines_with_words(given, name))
    first = list(islice(lines, SAMPLE))
    unmarked = [without_marks(line, arguments.mark) for line in first]
    refuse_table(name, unmarked)
    say(of_columns(name, unmarked))
    warn(models[0], unmarked)
    names, found = values_of(models, chain(first, lines), arguments)
    return [arguments.prefix + name for name in names], ([*map(values.get, names)] for values in found)


def of_column(models: Sequence[LoadedModel], given: Iterator[str], arguments: argparse.Namespace) -> Printed:
    """Return the columns and rows for a table with a sentence per row; the file's own columns are first."""
    from wordtie.data.input_warnings import SAMPLE, refuse_single_words
    from wordtie.inference.stimuli import check_new_columns, join, sentence_per_row

    table = read_table(counted(given), text_name(arguments.file))
    rows = sentence_per_row(table, arguments.column)
    first = rows_with_words(rows, table.where, arguments.column)
    cells = [without_marks(cell, arguments.mark) for _, cell in first[-SAMPLE:]]
    refuse_single_words(models[0].tokenizer, cells, table.where, arguments.column)
    warn(models[0], cells)
    rows, copy = tee(chain(first, rows))
    names, found = values_of(models, (cell for _, cell in copy), arguments)
    names = [name for name in names if name != "id"]  # of the item, in most tables
    added = [arguments.prefix + name for name in names]
    check_new_columns(table, added)
    joined = join((row for row, _ in rows), found)
    return [*table.columns, *added], ([*row.cells, *map(values.get, names)] for row, values in joined)


def of_words(models: Sequence[LoadedModel], given: Iterator[str], arguments: argparse.Namespace) -> Printed:
    """Return the columns and rows for a table with a word per row; the file's own columns are first."""
    from wordtie.data.input_warnings import SAMPLE, misread
    from wordtie.inference.regions import region_columns
    from wordtie.inference.stimuli import check_new_columns, word_per_row

    table = read_table(counted(given), text_name(arguments.file))
    names = [name for name in region_columns(len(models), arguments.spillover) if name != "word"]
    added = [arguments.prefix + name for name in names]
    check_new_columns(table, added)
    by = arguments.by.split(",")
    place, *_ = [table.place(name) for name in (arguments.words, *by)]  # before the header is printed
    first = list(islice(table.rows, SAMPLE))
    table = replace(table, rows=chain(first, table.rows))
    say(misread(models[0].tokenizer, [row.cells[place] for row in first]))
    joined = word_per_row(models, table, arguments.words, by, arguments.reset, arguments.counts, arguments.spillover)
    return [*table.columns, *added], ([*row.cells, *map(values.get, names)] for row, values in joined)


def values_of(
    models: Sequence[LoadedModel], lines: Iterable[str], arguments: argparse.Namespace
) -> tuple[list[str], Iterator[Values]]:
    """Return the names of the values, and their rows, one for each token or region."""
    from wordtie.inference.regions import ShownLine, region_columns, region_rows, token_columns, token_rows

    if arguments.per == "token":
        return token_columns(len(models)), token_rows(models, lines, arguments.reset)
    shown = (ShownLine.of(line, arguments.mark) for line in lines)
    found = region_rows(models, shown, arguments.reset, arguments.counts, arguments.spillover)
    return region_columns(len(models), arguments.spillover), found


def frequencies_of(model: LoadedModel, path: str | None) -> Frequencies | None:
    """Return counts from a file, or of the model's training text; None, with a note, if that is no longer there."""
    from wordtie.inference.frequencies import read_frequencies, training_frequencies

    if path is not None:
        return read_frequencies(read_lines(path), text_name(path), model.tokenizer, lower=True)
    try:
        return training_frequencies(model)
    except WordtieError as error:
        say([f"log_frequency stays empty: {error}"])
        return None


def not_counted(frequencies: Frequencies | None, path: str | None) -> list[str]:
    """Return a note on words that a table of counts lacks, which have the frequency of a word never seen."""
    if frequencies is None or path is None or not frequencies.missing:
        return []
    some = [word for word, _ in frequencies.missing.most_common(5)]
    more = len(frequencies.missing) - len(some)
    listed = ", ".join(some) + (f" and {more:,} more" if more else "")
    return [f"{text_name(path)} has no count of {listed}: log_frequency is that of a word never seen"]


def warn(model: LoadedModel, lines: Sequence[str]) -> None:
    """Print notes on what the model may read otherwise than the writer of these lines expects."""
    from wordtie.data.input_warnings import misread, several_sentences

    looked_at = [sentence for line in lines for sentence in line.split("\n")]
    say([*misread(model.tokenizer, looked_at), *several_sentences(model.tokenizer, looked_at)])


def without_marks(line: str, mark: str | None) -> str:
    """Return the line as it is scored, with white space in place of marks."""
    return line.replace(mark, " ") if mark else line


def counted(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines, with progress on stderr unless the rows are printed on a terminal, where they show it."""
    progress = StageProgress("lines", 1)
    for done, line in enumerate(lines):
        if done % 100 == 0 and not sys.stdout.isatty():
            progress("scored", done, 0)
        yield line


def is_short(lines: Iterator[str]) -> tuple[bool, Iterator[str]]:
    """Return whether a text is so short that it is scored before torch would be imported, and its lines again."""
    first, characters = [], 0
    for line in lines:
        first.append(line)
        characters += len(line) + 1
        if characters > SHORT:
            return False, chain(first, lines)
    return True, iter(first)


def lines_with_words(lines: Iterator[str], name: str) -> Iterator[str]:
    """Return the lines. Raises `DataError` at once if none has a word, as `wordtie evaluate` does."""
    for blank, line in enumerate(lines):
        if line.strip():
            return chain(repeat("", blank), [line], lines)
        if blank >= MOST_BLANK_LINES:
            raise DataError(f"{name}: begins with more than {MOST_BLANK_LINES:,} blank lines: is it text?")
    raise DataError(f"{name}: has no words in it; give a file with text")


def rows_with_words(rows: Iterator[tuple[Row, str]], where: str, column: str) -> list[tuple[Row, str]]:
    """Return the first rows of a table, as far as the first cells with words. Raises `DataError` if none has a word."""
    from wordtie.data.input_warnings import SAMPLE

    first = more = list(islice(rows, SAMPLE))
    while more and not any(cell.strip() for _, cell in more):
        if len(first) >= MOST_BLANK_ROWS:
            raise DataError(f"{where}: column {column} is blank in the first {len(first):,} rows: is it the right one?")
        more = list(islice(rows, SAMPLE))
        first += more
    if not more:
        raise DataError(f"{where}: has no words in column {column}; give a table with text")
    return first
