"""`wordtie export latinime` and `wordtie export keyman`: dictionaries for keyboards."""

from __future__ import annotations

from pathlib import Path

from wordtie.commands._shared import (
    Parser,
    add_export,
    add_part,
    check_stdin_once,
    print_json,
    read_lines,
    text_name,
    whole_number,
)
from wordtie.console import say
from wordtie.errors import WordtieError

LATINIME_HELP = """\
Write the words of a model, and the likeliest words after each, as a .combined text for LatinIME: the keyboard of
Android, HeliBoard, OpenBoard and others, whose dicttool compiles it.

Words are weighted by their counts in the model's training text, or in a table (--frequencies), or, without either, by
what the model expects after its most frequent words. Only words that contain a letter are written.

examples:
  wordtie export latinime runs/novel main_en.combined --locale en
  wordtie export latinime en main_en.combined --locale en --words 20000 --bigrams 5 --blocked swearwords.txt
"""
KEYMAN_HELP = """\
Write the words of a model with counts as a word list for Keyman, a table with a tab between word and count.

Words are weighted by their counts in the model's training text, or in a table (--frequencies), or, without either, by
what the model expects after its most frequent words. Only words that contain a letter are written.

examples:
  wordtie export keyman runs/novel wordlist.tsv
  wordtie export keyman runs/novel wordlist.tsv --frequencies counts.csv --blocked swearwords.txt
"""


def latinime(argv: list[str]) -> None:
    """Write the file, and print its name."""
    parser = _parser("latinime", LATINIME_HELP)
    parser.add_argument("--locale", required=True, help="the language, say en or pt_BR")
    parser.add_argument("--bigrams", type=whole_number, default=10, help="words after each word (10)")
    parser.add_argument("--contexts", type=whole_number, default=2000, help="after the N most frequent words (2000)")
    _export(parser, argv)


def keyman(argv: list[str]) -> None:
    """Write the file, and print its name."""
    _export(_parser("keyman", KEYMAN_HELP), argv)


def _parser(form: str, text: str) -> Parser:
    parser = Parser(f"export {form}", text)
    add = parser.add_argument
    add("--words", type=whole_number, help="only the N most frequent words (all)")
    add("--frequencies", metavar="FILE", help="a table with columns word and count (training text)")
    add("--blocked", metavar="FILE", help="words that are not to be suggested, one per line, in any case")
    add_export(parser)
    add_part(parser)
    return parser


def _export(parser: Parser, argv: list[str]) -> None:
    arguments = parser.parse_args(argv)
    check_stdin_once(arguments.blocked, arguments.frequencies)

    from wordtie.config.paths import path_of
    from wordtie.export.dictionaries import entries, write_keyman, write_latinime
    from wordtie.inference.frequencies import read_frequencies, training_frequencies
    from wordtie.inference.loading import load
    from wordtie.inference.predict import blocklist, spelt
    from wordtie.storage.atomic import check_new

    check_new(path_of(arguments.out), arguments.overwrite)  # before the work
    model = load(arguments.run, part=arguments.part, without_torch=True)
    words = blocklist(read_lines(arguments.blocked)) if arguments.blocked else ()
    blocked = [spelt(model.tokenizer, word) for word in words]
    frequencies = None
    if arguments.frequencies:
        file = arguments.frequencies
        frequencies = read_frequencies(read_lines(file), text_name(file), model.tokenizer)
    else:
        try:
            frequencies = training_frequencies(model)
        except WordtieError as error:
            say([f"weighted by the model's predictions: {error}"])
    is_latinime = "locale" in arguments
    more = {"bigrams": arguments.bigrams, "contexts": arguments.contexts} if is_latinime else {}
    found = entries(model, frequencies, arguments.words, blocked=blocked, **more)
    out: Path
    if is_latinime:
        out = write_latinime(found, arguments.out, arguments.locale, arguments.overwrite)
    else:
        out = write_keyman(found, arguments.out, arguments.overwrite)
    if arguments.json:
        bigrams = sum(len(entry.bigrams) for entry in found)
        print_json({"file": str(out), "words": sum(not entry.blocked for entry in found), "bigrams": bigrams})
    else:
        print(out)
