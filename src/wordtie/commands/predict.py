"""`wordtie predict`: the likeliest next words of a phrase."""

from __future__ import annotations

from wordtie.commands._shared import Parser, add_part, print_json, print_tsv, read_lines, whole_number
from wordtie.console import say
from wordtie.errors import DataError

HELP = """\
List the likeliest next words of a phrase.

The output has a header and one line per word, likeliest first, with tabs between the columns. A phrase is read as the
start of a sentence. A line end or <eos> in it ends a sentence.

examples:
  wordtie predict runs/ptb "the federal reserve"
  wordtie predict runs/ptb "the federal reserve" --top 3 --json
  echo "the federal reserve" | wordtie predict runs/ptb -
"""


def main(argv: list[str]) -> None:
    """Print word and probability."""
    parser = Parser("predict", HELP)
    parser.add_argument("run", metavar="RUN", help="the run folder of a trained model")
    parser.add_argument("phrase", metavar="PHRASE", nargs="+", help="the words so far: together one phrase (-: stdin)")
    parser.add_argument("--top", type=whole_number, default=10, help="how many words (10)")
    parser.add_argument(
        "--words-only",
        action="store_true",
        help="leave out <unk>, which stands for every unknown word, and <eos>; the others keep their probabilities",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    add_part(parser)
    arguments = parser.parse_args(argv)

    from wordtie.data.input_warnings import of_phrases
    from wordtie.inference.loading import load

    model = load(arguments.run, part=arguments.part)
    phrase = phrase_of_stdin() if arguments.phrase == ["-"] else " ".join(arguments.phrase)
    say(of_phrases(model.tokenizer, [phrase]))
    rows: list[dict[str, object]] = [
        {"word": word, "probability": probability}
        for word, probability in model.predict(phrase, arguments.top, arguments.words_only)
    ]
    if arguments.json:
        print_json(rows)
    else:
        print_tsv(["word", "probability"], rows)


def phrase_of_stdin() -> str:
    """All of it, without the line end that closes it. Raises `DataError` if it has no word."""
    phrase = "\n".join(read_lines("-"))
    if not phrase.strip():
        raise DataError("stdin: has no words in it; give a phrase")
    return phrase
