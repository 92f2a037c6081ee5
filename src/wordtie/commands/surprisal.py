"""`wordtie surprisal`: how surprising each word of a text is, in bits."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from itertools import chain, islice, repeat

from wordtie.commands._shared import Parser, UsageError, add_part, print_json_list, print_tsv, read_lines, text_name
from wordtie.console import StageProgress, say
from wordtie.data.table import column, sentences
from wordtie.errors import DataError

HELP = """\
Print the surprisal of every word of a text.

The output has a header and one line per token, with tabs between the columns:
  line, position   line of the text and token in the line, both from 1
  region           stretch between white space, from 1; add up over it to get one number for a word and the
                   punctuation that touches it
  word, id, oov    oov is 1 if the word is not in the vocabulary and is scored as <unk>
  surprisal_bits   -log2 of the probability of the word, given the words before it
  entropy_bits     uncertainty of the model before it saw the word

examples:
  wordtie surprisal runs/ptb sentences.txt > surprisal.tsv
  echo "the cat sat on the mat" | wordtie surprisal runs/ptb
  wordtie surprisal runs/ptb story.txt --reset never
  wordtie surprisal runs/ptb passages.txt --reset blank      one sentence a line, a blank line between passages
  wordtie surprisal runs/ptb items.csv --column sentence     a table with a header; `line` is the row below it, and
                                                             a cell of several lines is a passage
  wordtie surprisal runs/ptb words.csv --column word --sentence item
                                                             a table with a word a row: rows with the same `item` are
                                                             a sentence; `line` counts sentences, `region` their rows
"""

MOST_BLANK_LINES = 10_000_000
"""Before the first word: a small .gz file may hold far more."""
COLUMNS = ["line", "position", "region", "word", "id", "oov", "surprisal_bits", "entropy_bits"]


def main(argv: list[str]) -> None:
    """Score a file or stdin."""
    parser = Parser("surprisal", HELP)
    parser.add_argument("run", metavar="RUN", help="the run folder of a trained model")
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="a UTF-8 text, plain or .gz (none: stdin)")
    parser.add_argument(
        "--reset",
        choices=["line", "blank", "never"],
        default="line",
        help="line: every line starts afresh; blank: context is kept up to the next blank line; never: to the end of "
        "the file (line)",
    )
    parser.add_argument(
        "--column", metavar="NAME", help="FILE is a table, CSV, with tabs or JSON Lines: read this column of it"
    )
    parser.add_argument("--sentence", metavar="NAME", help="a row is one word: the column that tells sentences apart")
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    add_part(parser)
    arguments = parser.parse_args(argv)
    if arguments.column and arguments.reset == "blank":
        raise UsageError("rows have no blank lines between: write a passage into one cell, a sentence a line")
    if arguments.sentence and not arguments.column:
        raise UsageError("--sentence is for a table with a word a row: name the column of the words with --column")

    from wordtie.data.input_warnings import SAMPLE, misread, refuse_single_words, several_sentences
    from wordtie.inference.loading import load
    from wordtie.inference.surprisal import surprisal

    model = load(arguments.run, part=arguments.part)
    lines = counted(lines_with_words(arguments.file, arguments.column, arguments.sentence))
    first = list(islice(lines, SAMPLE))
    if arguments.column and not arguments.sentence:
        refuse_single_words(model.tokenizer, first, text_name(arguments.file), arguments.column)
    looked_at = [sentence for line in first for sentence in line.split("\n")]
    say([*misread(model.tokenizer, looked_at), *several_sentences(model.tokenizer, looked_at)])
    records = surprisal(model.model, model.tokenizer, chain(first, lines), arguments.reset)
    rows = map(dataclasses.asdict, records)
    if arguments.json:
        print_json_list(rows)
    else:
        print_tsv(COLUMNS, rows)


def counted(lines: Iterator[str]) -> Iterator[str]:
    """The lines, with progress on stderr if the rows are not printed on a terminal, where they show it."""
    progress = StageProgress("lines", 1)
    for done, line in enumerate(lines):
        if done % 100 == 0 and not sys.stdout.isatty():
            progress("scored", done, 0)
        yield line


def lines_with_words(path: str, name: str | None = None, sentence: str | None = None) -> Iterator[str]:
    """As `read_lines`, or the cells of a column of that name, or the sentences of its words. Raises `DataError` at once
    where no line has a word, as `wordtie evaluate` does."""
    lines = read_lines(path)
    if name is not None:
        where = text_name(path)
        lines = column(lines, name, where) if sentence is None else sentences(lines, name, sentence, where)
    for blank, line in enumerate(lines):
        if line.strip():
            return chain(repeat("", blank), [line], lines)
        if blank >= MOST_BLANK_LINES:
            raise DataError(f"{text_name(path)}: begins with more than {MOST_BLANK_LINES:,} blank lines: is it text?")
    raise DataError(f"{text_name(path)}: has no words in it; give a file with text")
