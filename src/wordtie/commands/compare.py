"""`wordtie compare`: what models expect after the same phrases, side by side."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from wordtie.commands._shared import (
    Parser,
    UsageError,
    add_part,
    print_json,
    print_tsv,
    read_lines,
    text_name,
    whole_number,
)
from wordtie.config.paths import path_of
from wordtie.console import say
from wordtie.errors import DataError

if TYPE_CHECKING:
    from wordtie.inference.compare import Comparison
    from wordtie.inference.loading import LoadedModel

KEYS = ("phrase", "rank")
"""Columns of the table that no model can have."""
HELP = """\
List what models expect after the same phrases, side by side.

For each phrase it prints one line per rank, then the word that really follows (if it is known), then the probability
that each model gives to <unk> and to the most frequent words together (the first words of the vocabulary if a model
does not tell which are frequent). A phrases file has one phrase per line (`-` is stdin), optionally with a tab and the
word that follows. With --text, it prints these probabilities before every word of a text instead: the mean, the mean
before other words, and the share of such words in the text.

examples:
  wordtie compare runs/base runs/real --phrase "the minister of industry science and"
  wordtie compare runs/base runs/real --phrases phrases.tsv --top 5 --json
  wordtie compare runs/base runs/real --text test.txt
"""


def main(argv: list[str]) -> None:
    """Print the predictions, or the masses over a text."""
    arguments = parse(argv)
    if bool(arguments.phrase or arguments.phrases) == bool(arguments.text):
        raise UsageError("give --phrase or --phrases, or else --text; see `wordtie compare --help`")

    phrases = [*(("", phrase, None) for phrase in arguments.phrase), *read_phrases(arguments.phrases)]

    from wordtie.inference.loading import load

    models = {
        f"./{run}" if run in KEYS else run: load(run, part=arguments.part) for run in dict.fromkeys(arguments.runs)
    }
    if arguments.text:
        show_text(models, arguments)
        return

    from wordtie.data.input_warnings import of_phrases
    from wordtie.inference.compare import lines

    read = [phrase for _, phrase, _ in phrases]
    say(f"{name}: {note}" for name, loaded in models.items() for note in of_phrases(loaded.tokenizer, read))
    comparisons = [comparison(models, place, phrase, following, arguments) for place, phrase, following in phrases]
    if arguments.json:
        print_json([dataclasses.asdict(each) for each in comparisons])
    else:
        header = [*KEYS, *(column for name in models for column in (name, f"{name}:probability"))]
        print_tsv(header, lines(comparisons))


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse the command line. Raises `UsageError`."""
    parser = Parser("compare", HELP)
    parser.add_argument("runs", metavar="RUN", nargs="+", help="trained models: run folders, ARPA files, or `en`")
    parser.add_argument("--phrase", action="append", default=[], help="the words so far; may be repeated")
    parser.add_argument("--phrases", metavar="FILE", help="a file of phrases")
    parser.add_argument("--text", metavar="FILE", help="a text: average the masses over it")
    parser.add_argument("--top", type=whole_number, default=10, help="how many words (10)")
    parser.add_argument("--frequent", type=whole_number, default=50, help="how many frequent words to sum up (50)")
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    add_part(parser)
    arguments: argparse.Namespace = parser.parse_args(argv)
    return arguments


def read_phrases(path: str | None) -> list[tuple[str, str, str | None]]:
    """Return (file and line, phrase, word that follows or None) for each line that is not blank.

    Raises `DataError` if all are blank.
    """
    if not path:
        return []
    phrases: list[tuple[str, str, str | None]] = []
    for number, line in enumerate(read_lines(path), 1):
        phrase, _, following = line.partition("\t")
        if line.strip():
            phrases.append((f"{text_name(path)}, line {number}: ", phrase.strip(), following.strip() or None))
    if not phrases:
        raise DataError(f"{text_name(path)}: has no phrases in it, only blank lines: write one per line")
    return phrases


def comparison(
    models: dict[str, LoadedModel], place: str, phrase: str, following: str | None, arguments: argparse.Namespace
) -> Comparison:
    """Compare what the models expect after one phrase. Raises a `DataError` that names its place."""
    from wordtie.inference.compare import compare_predictions

    try:
        return compare_predictions(models, phrase, following, arguments.top, arguments.frequent)
    except DataError as error:
        raise DataError(f"{place}{error}") from error


def show_text(models: dict[str, LoadedModel], arguments: argparse.Namespace) -> None:
    """Print a row for each model and group of words: mean probability, mean before other words, and actual share."""
    from wordtie.data.input_warnings import beginning, of_text
    from wordtie.inference.compare import name_of_frequent, text_masses
    from wordtie.inference.frequencies import by_frequency

    path = path_of(arguments.text)
    if arguments.text == "-" or (path.exists() and not path.is_file() and not path.is_dir()):
        raise DataError(f"{arguments.text}: is read once for each model, which a pipe cannot: save it to a file")
    first = beginning(path)
    rows: list[dict[str, object]] = []
    for name, loaded in models.items():
        say(f"{name}: {note}" for note in of_text(loaded.tokenizer, first))
        found = text_masses(loaded, path, arguments.frequent)
        frequent = name_of_frequent(by_frequency(loaded), arguments.frequent)
        for words, group in (("<unk>", "unk"), (frequent, "frequent"), ("the last word again", "repeat")):
            masses = {kind: getattr(getattr(found, kind), group) for kind in ("predicted", "elsewhere", "found")}
            rows.append({"model": name, "words": words, **masses, "tokens": found.tokens})
    if arguments.json:
        print_json(rows)
    else:
        print_tsv(list(rows[0]), rows)
