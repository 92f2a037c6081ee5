"""`wordtie predict`: the likeliest next words of a phrase."""

from __future__ import annotations

import argparse

from wordtie.commands._shared import (
    SHORT,
    Parser,
    UsageError,
    add_part,
    check_stdin_once,
    one_thread_for_numpy,
    print_json,
    print_tsv,
    read_lines,
    stdin,
    whole_number,
)
from wordtie.console import say
from wordtie.errors import DataError

HELP = """\
List the likeliest next words of a phrase.

The output has a header and one line per word, likeliest first, with tabs between the columns. A phrase is read as the
start of a sentence. A line end or <eos> in it ends a sentence. A final | is the cursor: the word before it is
still being typed, and its completions are listed.

--interactive reads phrases from stdin and answers each line at once: a line per word, then a blank line. --jsonl does
the same with JSON: {"text": "the peo|"} is answered {"words": [{"word": "people", "probability": 0.1}, ...]}. A request
may have top, words_only, blocked (a list) and id, which is part of the answer. An answer may be {"error": "..."}.

examples:
  wordtie predict runs/ptb "the federal reserve"
  wordtie predict runs/ptb "the federal res|" --top 3 --json
  echo "the federal reserve" | wordtie predict runs/ptb -
  wordtie predict runs/ptb --interactive --words-only --blocked swearwords.txt
"""


def main(argv: list[str]) -> None:
    """Print word and probability."""
    arguments = parse(argv)
    one_thread_for_numpy()

    from wordtie.inference.loading import load
    from wordtie.inference.predict import at_cursor, blocklist

    blocked = blocklist(read_lines(arguments.blocked)) if arguments.blocked else frozenset()
    if arguments.interactive or arguments.jsonl:
        from wordtie.inference.predict_lines import NextWords, Options, answers

        model = load(arguments.run, part=arguments.part, without_torch=True)
        options = Options(arguments.top, arguments.words_only, blocked)
        for answer in answers(NextWords(model, options), stdin(), "stdin", arguments.jsonl):
            print(answer, flush=True)
        return

    from wordtie.data.input_warnings import of_phrases

    phrase = phrase_of_stdin() if arguments.phrase == ["-"] else " ".join(arguments.phrase)
    model = load(arguments.run, part=arguments.part, without_torch=len(phrase) <= SHORT)
    say(of_phrases(model.tokenizer, [" ".join(at_cursor(model.tokenizer, phrase)[0])]))
    rows: list[dict[str, object]] = [
        {"word": word, "probability": probability}
        for word, probability in model.predict(phrase, arguments.top, arguments.words_only, blocked)
    ]
    if arguments.json:
        print_json(rows)
    else:
        print_tsv(["word", "probability"], rows)


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse the command line. Raises `UsageError`."""
    parser = Parser("predict", HELP)
    add = parser.add_argument
    add("run", metavar="RUN", help="a trained model: a run folder, an ARPA file, or `en`")
    required = "*" if {"--interactive", "--jsonl"} & set(argv) else "+"  # with `*`, none could follow an option
    add("phrase", metavar="PHRASE", nargs=required, help="the words so far, together one phrase (-: stdin)")
    add("--top", type=whole_number, default=10, help="how many words (10)")
    add("--words-only", action="store_true", help="leave out <unk>, which stands for every unknown word, and <eos>")
    add("--blocked", metavar="FILE", help="leave out the words of this list, one per line, in any case")
    add("--interactive", action="store_true", help="answer each line of stdin as it comes")
    add("--jsonl", action="store_true", help="answer each JSON object of stdin, one per line, as it comes")
    add("--json", action="store_true", help="print a JSON list")
    add_part(parser)
    arguments: argparse.Namespace = parser.parse_args(argv)
    if (arguments.interactive or arguments.jsonl) and (arguments.phrase or arguments.json):
        reader = "--jsonl" if arguments.jsonl else "--interactive"
        raise UsageError(f"{reader} reads phrases from stdin: leave {'a PHRASE' if arguments.phrase else '--json'} out")
    reads_stdin = arguments.interactive or arguments.jsonl or arguments.phrase == ["-"]
    check_stdin_once("-" if reads_stdin else None, arguments.blocked)
    return arguments


def phrase_of_stdin() -> str:
    """Read all of stdin, without the line end that closes it. Raises `DataError` if it has no word."""
    phrase = "\n".join(read_lines("-"))
    if not phrase.strip():
        raise DataError("stdin: has no words in it; give a phrase")
    return phrase
