"""`wordtie vectors`: a file, neighbours, analogies or a picture of a model's word vectors."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from wordtie.commands._shared import Parser, UsageError, print_json, print_tsv, whole_number
from wordtie.config.paths import path_of
from wordtie.errors import SaveError
from wordtie.runs.ready import run_path

if TYPE_CHECKING:
    from wordtie.vectors.files import Format
    from wordtie.vectors.word_vectors import WordVectors

HELP = """\
Take the word vectors out of a model: files, neighbours, analogies, a picture.

SOURCE is a run folder, or a vectors file (word2vec text or binary, plain or .gz, or .npy). Counts, which word2vec's
runs have, go into NAME.vocab beside the file, which gensim reads as `fvocab`. A picture is one HTML file that needs no
network.

examples:
  wordtie vectors runs/ptb --out ptb.txt
  wordtie vectors runs/ptb --side output --format binary --out ptb.bin
  wordtie vectors runs/ptb --neighbours market --top 5
  wordtie vectors runs/sotu-word2vec --analogy man king woman
  wordtie vectors runs/ptb --picture ptb.html --words market,company,monday
"""

ENDINGS: dict[Format, str] = {"text": ".txt", "binary": ".bin", "npy": ".npy"}
MAP_WORDS = 800


def main(argv: list[str]) -> None:
    """Print neighbours or analogies, or write a picture or a vectors file."""
    arguments = parse(argv)

    from wordtie.vectors.extraction import open_vectors, vectors_of

    source = run_path(arguments.source)
    if arguments.side and source.is_file():
        raise UsageError("--side is for run folders; a vectors file has one set of vectors")
    vectors = vectors_of(source, arguments.side) if arguments.side else open_vectors(arguments.source)
    if arguments.neighbours is not None:
        show(vectors.neighbours(arguments.neighbours, arguments.top), arguments.json)
    elif arguments.analogy:
        word, like, other = arguments.analogy
        show(vectors.analogy(word, like, other, arguments.top), arguments.json)
    elif arguments.picture is not None:
        picture(arguments, vectors)
    else:
        from wordtie.vectors.files import write_vectors

        form = format_of(arguments.out, arguments.format)
        out = path_of(arguments.out or f"{source.resolve().name.replace(':', '-')}.vectors{ENDINGS[form]}")
        if not arguments.out and out.exists():
            raise SaveError(f"{out}: is there already: name the file with --out, which replaces it")
        for path in write_vectors(vectors, out, form):
            print(path)


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse the command line. Raises `UsageError`."""
    parser = Parser("vectors", HELP)
    parser.add_argument("source", metavar="SOURCE", help="a run folder or a vectors file")
    parser.add_argument(
        "--side", choices=["input", "output", "tied"], help="which vectors of a model (tied, or else input)"
    )
    parser.add_argument(
        "--format", choices=list(ENDINGS), help="of the file to be written (.bin: binary, .npy: npy, else text)"
    )
    parser.add_argument(
        "--out", metavar="FILE", help="the file to be written, or replaced (SOURCE.vectors.txt, .bin or .npy, here)"
    )
    task = parser.add_mutually_exclusive_group()
    task.add_argument("--neighbours", metavar="WORD", help="list the nearest words instead")
    task.add_argument("--analogy", nargs=3, metavar=("A", "B", "C"), help="A is to B as C is to what?")
    task.add_argument("--picture", metavar="HTML", help="write a map, and neighbours side by side")
    parser.add_argument("--words", default="", help="for the picture: words whose neighbours to show, comma-separated")
    parser.add_argument("--top", type=whole_number, default=10, help="how many neighbours (10)")
    parser.add_argument("--json", action="store_true", help="print a JSON list of neighbours")
    arguments: argparse.Namespace = parser.parse_args(argv)
    for option, hint in (("neighbours", "a word"), ("picture", "an HTML file"), ("out", "a file")):
        if getattr(arguments, option) == "":
            raise UsageError(f"--{option} is empty: name {hint}")
    if arguments.words and not arguments.picture:
        raise UsageError("--words is for the picture: give --picture HTML, or --neighbours WORD")
    if arguments.json and not (arguments.neighbours or arguments.analogy):
        raise UsageError("--json prints neighbours: give --neighbours WORD or --analogy A B C")
    if arguments.format and (arguments.neighbours or arguments.analogy or arguments.picture):
        raise UsageError("--format is for a vectors file: leave it out, or what is asked for in its place")
    if arguments.out and (arguments.neighbours or arguments.analogy or arguments.picture):
        raise UsageError("--out is for a vectors file; neighbours go to stdout, a picture to the file it names")
    return arguments


def format_of(out: str | None, named: Format | None) -> Format:
    """Return the format asked for, or else that of the file's ending. Raises `UsageError` if they disagree."""
    ending = Path(out or "").suffix
    if ending == ".gz":
        raise UsageError(f"{out}: a vectors file is written plain: leave out .gz, and use gzip on the file")
    if named and named != "npy" and ending == ".npy":
        raise UsageError(f"{out}: the ending .npy is for --format npy, which it is read as")
    if named == "npy" and out and ending != ".npy":
        raise UsageError(f"{out}: a file of --format npy must end in .npy, by which it is known")
    by_ending: dict[str, Format] = {".bin": "binary", ".npy": "npy"}
    return named or by_ending.get(ending, "text")


def show(found: list[tuple[str, float]], json: bool) -> None:
    """Print word and cosine."""
    rows: list[dict[str, object]] = [{"word": word, "cosine": cosine} for word, cosine in found]
    if json:
        print_json(rows)
    else:
        print_tsv(["word", "cosine"], rows)


def picture(arguments: argparse.Namespace, vectors: WordVectors) -> None:
    """Write the HTML file; an untied run folder is shown with both of its sides."""
    from wordtie.vectors.extraction import sides
    from wordtie.vectors.map import write_page

    source = run_path(arguments.source)
    sets = list(sides(source).values()) if source.is_dir() and not arguments.side else [vectors]
    words = [word.strip() for word in arguments.words.split(",") if word.strip()]
    page = path_of(arguments.picture)
    write_page(page, sets, words, MAP_WORDS, arguments.top)
    print(page)
