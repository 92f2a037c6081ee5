"""`wordtie evaluate`: perplexity, with what it is over."""

from __future__ import annotations

import fcntl
import sys
import termios
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Literal

from wordtie.commands._shared import (
    Parser,
    UsageError,
    add_part,
    print_json,
    print_tsv,
    read_lines,
    stdin,
    text_name,
    whole_number,
)
from wordtie.config.paths import path_of
from wordtie.console import StageProgress, say
from wordtie.runs.ready import names_a_model

if TYPE_CHECKING:
    from wordtie.inference.evaluate import EvaluationResult
    from wordtie.inference.loading import LoadedModel

HELP = """\
Measure the perplexity of a text under trained models.

The text is one stream: every token is predicted once, the first from <eos>, and the state is carried over. Without
FILE, the test text of the model's own corpus is measured (--split chooses another).

With several runs, which must share one vocabulary, it prints a table. Each run but the first has its difference from
the first, in bits per token (below 0: it predicts better) and as the ratio of perplexities, with the 95 % interval of
10,000 bootstrap resamples of the text's lines. Fewer than ten lines have no interval.

--hits adds how often the next word, <unk> and <eos> included, is among the k likeliest; words of equal probability are
ordered by chance.

--keystrokes prints instead how many keys a keyboard would save on FILE if it suggested the K likeliest words that
begin with the letters typed so far. For a mixture, it also prints each part.

examples:
  wordtie evaluate runs/ptb
  wordtie evaluate runs/ptb --split valid --hits 1,3,10
  wordtie evaluate runs/ptb novel.txt --json
  wordtie evaluate runs/ptb runs/ptb-large novel.txt
  wordtie evaluate runs/ptb novel.txt --keystrokes 3
"""


def main(argv: list[str]) -> None:
    """Print the perplexity, its counts and its policies; of several runs, a table."""
    parser = Parser("evaluate", HELP, usage="wordtie evaluate RUN [RUN2 ...] [FILE] [OPTION ...]")
    parser.add_argument("runs", metavar="RUN [RUN2 ...] [FILE]", nargs="+", help="run folders, ARPA files or `en`, "
                        "then a UTF-8 text, plain or .gz (-: stdin)")  # fmt: skip
    parser.add_argument("--split", choices=["valid", "test"], help="without FILE: which text (test)")
    parser.add_argument("--hits", metavar="K,...", type=numbers, default=(), help="for example 1,3,10")
    parser.add_argument("--keystrokes", metavar="K", type=whole_number, help="suggestions at a time, usually 3")
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    add_part(parser)
    arguments = parser.parse_args(argv)
    runs, file = runs_and_file(arguments.runs)
    if arguments.keystrokes and (file is None or arguments.hits):
        raise UsageError(f"--keystrokes {'is by itself: leave --hits out' if file else 'needs a FILE'}")
    if file and arguments.split:
        raise UsageError("--split is for the model's own corpus: leave it out, or the FILE")
    if len(set(runs)) < len(runs):
        raise UsageError("the same run is named twice: name each once")
    split: Literal["valid", "test"] = "valid" if arguments.split == "valid" else "test"

    from wordtie.inference.loading import load

    models = {run: load(run, part=arguments.part) for run in runs}
    first = models[runs[0]]
    if file is None:
        say(["what comes on stdin is not read: give - for it"] if _is_given_stdin() else [])
        name = f"{first.settings.data.corpus} ({split})"
    else:
        name = text_name(file)
        say(notes_on(first, file))
    if arguments.keystrokes and file is not None:
        show_keystrokes(models, name, file, arguments)
    elif len(models) == 1:
        show_one(first, runs[0], name, file, split, arguments)
    else:
        show_several(models, name, file, split, arguments)


def runs_and_file(arguments: list[str]) -> tuple[list[str], str | None]:
    """Return the runs, and the text: the last argument, unless it is the only one or names a model."""
    *runs, last = arguments
    return (arguments, None) if not runs or names_a_model(last) else (runs, last)


def numbers(text: str) -> tuple[int, ...]:
    """An `argparse` type: whole numbers of at least 1, each once, in ascending order."""
    return tuple(sorted({whole_number(each) for each in text.split(",")}))


def notes_on(model: LoadedModel, file: str) -> list[str]:
    """Return notes on what may be wrong with a text; none for stdin and other pipes, which can be read only once."""
    from wordtie.data.input_warnings import beginning, of_table, of_text

    path = path_of(file)
    if not path.is_file():
        return []
    lines = beginning(path)
    return of_table(file, lines) + of_text(model.tokenizer, lines)


def show_one(
    model: LoadedModel, run: str, name: str, file: str | None, split: Literal["valid", "test"], arguments: Namespace
) -> None:
    """Print the perplexity of one model."""
    from wordtie.inference.evaluate import evaluate_file, evaluate_split

    hits, progress = arguments.hits, StageProgress()
    if file is None:
        result = evaluate_split(model, run, split, hits, progress)
    else:
        text = stdin() if file == "-" else file
        result = evaluate_file(model.model, model.tokenizer, text, hits, progress)
    if arguments.json:
        print_json({"text": name, **result.as_json()})
    else:
        print(summary(name, result))


def show_keystrokes(models: dict[str, LoadedModel], name: str, file: str, arguments: Namespace) -> None:
    """Print a table of the models, and of the parts of a mixture."""
    from wordtie.inference.keystrokes import keystrokes, with_parts

    lines, rows = list(read_lines(file)), []
    tokenizer = next(iter(models.values())).tokenizer
    for run, loaded in models.items():
        for part, model in with_parts(loaded.model):
            found = keystrokes(model, loaded.tokenizer, counted(lines), arguments.keystrokes, name)
            rows.append({"run": f"{run}{part}", "saved": found.saved, **asdict(found)})
    if any(loaded.tokenizer.tokenisation != tokenizer.tokenisation for loaded in models.values()):
        say(["the models split the text into other words"])
    if arguments.json:
        print_json({"text": name, "suggestions": arguments.keystrokes, "runs": rows})
    else:
        print_tsv(list(rows[0]), rows)


def counted(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines, with progress on stderr."""
    progress = StageProgress("lines", 1)
    for done, line in enumerate(lines):
        progress("typed", done, len(lines))
        yield line


def show_several(
    models: dict[str, LoadedModel], name: str, file: str | None, split: Literal["valid", "test"], arguments: Namespace
) -> None:
    """Print a table of several models."""
    from wordtie.evaluation.paired import FEWEST_BLOCKS
    from wordtie.inference.compare_runs import compare_on_file, compare_on_split

    hits, progress = arguments.hits, StageProgress()
    if file is None:
        found = compare_on_split(models, split, hits, progress)
    else:
        found = compare_on_file(models, stdin() if file == "-" else file, hits, progress)
    rows = found.rows()
    blocks = max(each.blocks for each in found.differences.values())
    few = f"no intervals: they take {FEWEST_BLOCKS} {found.unit}, and the text has {blocks}; give a longer text"
    say([few] if blocks < FEWEST_BLOCKS else [])
    if arguments.json:
        print_json({"text": name, "unit": found.unit, "blocks": blocks, "runs": rows})
    else:
        print_tsv(list(rows[0]), rows)


def _is_given_stdin() -> bool:
    """Return whether stdin is a file, or a pipe, with something to read in it."""
    try:
        return not sys.stdin.isatty() and bool(any(fcntl.ioctl(sys.stdin, termios.FIONREAD, bytes(4))))
    except (OSError, ValueError, AttributeError):  # closed, none, or of another kind
        return False


def summary(name: str, result: EvaluationResult) -> str:
    """Format the perplexity, with what it is over."""
    from wordtie.evaluation.format_perplexity import format_perplexity

    return "\n".join(
        [
            f"perplexity {format_perplexity(result.perplexity)}",
            *(f"among the first {first}: {100 * share:.1f} %" for first, share in (result.hits or {}).items()),
            f"over {result.tokens:,} tokens of {name}, {result.oov:,} of them out of the vocabulary",
            f"<unk>: {result.unk_policy}",
            f"<eos>: {result.eos_policy}",
        ]
    )
