"""`wordtie evaluate`: perplexity, with what it was counted over."""

from __future__ import annotations

import dataclasses
import fcntl
import sys
import termios
from typing import TYPE_CHECKING, Literal

from wordtie.commands._shared import Parser, UsageError, add_part, print_json, stdin, text_name
from wordtie.config.paths import path_of
from wordtie.console import say

if TYPE_CHECKING:
    from wordtie.inference.evaluate import EvaluationResult

HELP = """\
Measure the perplexity of a text under a trained model.

The text is one stream: every token is predicted once, the first from <eos>, and the state is carried over. Without
FILE, the test text of the model's own corpus is measured (--split chooses another).

examples:
  wordtie evaluate runs/ptb
  wordtie evaluate runs/ptb --split valid
  wordtie evaluate runs/ptb novel.txt --json
"""


def main(argv: list[str]) -> None:
    """Print the perplexity, its counts and its policies."""
    parser = Parser("evaluate", HELP)
    parser.add_argument("run", metavar="RUN", help="the run folder of a trained model")
    parser.add_argument("file", metavar="FILE", nargs="?", help="a UTF-8 text, plain or .gz (-: stdin)")
    parser.add_argument("--split", choices=["valid", "test"], help="without FILE: which text (test)")
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    add_part(parser)
    arguments = parser.parse_args(argv)
    if arguments.file and arguments.split:
        raise UsageError("--split is for the model's own corpus: leave it out, or the FILE")

    from wordtie.data.input_warnings import beginning, of_text
    from wordtie.inference.evaluate import evaluate_split
    from wordtie.inference.loading import load

    model = load(arguments.run, part=arguments.part)
    if arguments.file is None:
        say(["what comes on stdin is not read: give - for it"] if _is_given_stdin() else [])
        split: Literal["valid", "test"] = "valid" if arguments.split == "valid" else "test"
        name, result = f"{model.settings.data.corpus} ({split})", evaluate_split(model, arguments.run, split)
    else:
        text = stdin() if arguments.file == "-" else arguments.file
        path = path_of(arguments.file)
        if path.is_file():  # stdin and other pipes are read once
            say(of_text(model.tokenizer, beginning(path)))
        name, result = text_name(arguments.file), model.evaluate(text)
    if arguments.json:
        print_json({"text": name, **dataclasses.asdict(result)})
    else:
        print(summary(name, result))


def _is_given_stdin() -> bool:
    """Whether a file, or a pipe with something in it, is there to be read."""
    try:
        return not sys.stdin.isatty() and bool(any(fcntl.ioctl(sys.stdin, termios.FIONREAD, bytes(4))))
    except (OSError, ValueError, AttributeError):  # closed, none, or of another kind
        return False


def summary(name: str, result: EvaluationResult) -> str:
    """The perplexity, over what."""
    from wordtie.evaluation.format_perplexity import format_perplexity

    return "\n".join(
        [
            f"perplexity {format_perplexity(result.perplexity)}",
            f"over {result.tokens:,} tokens of {name}, {result.oov:,} of them out of the vocabulary",
            f"<unk>: {result.unk_policy}",
            f"<eos>: {result.eos_policy}",
        ]
    )
