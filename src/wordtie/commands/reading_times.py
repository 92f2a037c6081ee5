"""`wordtie reading-times`: what surprisal adds to a regression of reading times."""

from __future__ import annotations

import argparse

from wordtie.commands._shared import (
    Parser,
    UsageError,
    natural_number,
    print_json,
    print_tsv,
    read_lines,
    seed,
    text_name,
    whole_number,
)
from wordtie.console import say

HELP = """\
Measure what surprisal adds to a regression of reading times.

FILE is a table that `wordtie surprisal --words` or `--per region` wrote, with reading times. Linear regressions with
and without surprisal predict held-out items. Both use word length and log frequency, and every predictor also of
the words before (spillover). A surprisal column NAME of your own needs NAME_prev1 and so on, too, or give
--spillover 0. Several FILEs of the same words, or several columns, are compared in pairs:
  gain_nats                log-likelihood per word that surprisal adds;  gain_se: standard error over items
  p                        of no gain, by a permutation test over items
  r2, delta_r2             explained variance of held-out items, and what surprisal adds to it
  beyond_first_nats, ...   log-likelihood per word beyond that of the first surprisal

examples:
  wordtie reading-times joined.tsv --rt self_paced --item item
  wordtie reading-times lstm.tsv ngram.tsv --rt self_paced --item item --oov drop --figure gain.svg
  wordtie reading-times joined.tsv --rt self_paced --surprisal surprisal_bits word_surprisal_bits
"""
OOV = "words that a model does not know, here or before: keep, drop, or flag them by a predictor (keep)"
COLUMNS = ["surprisal", "words", "items", "gain_nats", "gain_se", "p", "r2", "delta_r2"]
BEYOND = ["beyond_first_nats", "beyond_first_se", "beyond_first_p"]


def main(argv: list[str]) -> None:
    """Fit, predict, and print a line for each surprisal."""
    arguments = parse(argv)

    from wordtie.inference.joined_table import Choice, read_joined
    from wordtie.inference.reading_times import analyse
    from wordtie.inference.reading_times_figure import draw

    choice = Choice(
        time=arguments.rt,
        surprisal=tuple(arguments.surprisal or [f"{arguments.prefix}surprisal_bits"]),
        item=arguments.item,
        controls=tuple(arguments.control),
        spillover=arguments.spillover,
        oov=arguments.oov,
        log=arguments.log,
        prefix=arguments.prefix,
    )
    data, dropped = read_joined([(text_name(file), read_lines(file)) for file in arguments.files], choice)
    counts = {f"without {arguments.rt}": dropped.no_time, "without all predictors": dropped.no_predictor,
              "out of the vocabulary": dropped.oov}  # fmt: skip
    left_out = ", ".join(f"{count:,} {reason}" for reason, count in counts.items() if count)
    say([f"left out: {left_out}"] if left_out else [])
    skipped = 0 if arguments.log else int((data.time_N == 0).sum())
    say([f"{skipped:,} times are 0: if the words were skipped, leave their cells empty"] if skipped else [])
    result = analyse(data, arguments.folds, arguments.seed)
    if arguments.figure:
        draw(data, result, arguments.figure, arguments.rt)
    rows = []
    for number, gain in enumerate(result.gains):
        beyond = result.beyond_first[number - 1] if number else None
        rows.append(
            {"surprisal": gain.name, "words": result.words, "items": result.items, "gain_nats": gain.gain.nats,
             "gain_se": gain.gain.standard_error, "p": gain.gain.p, "r2": gain.r2, "delta_r2": gain.delta_r2,
             "beyond_first_nats": beyond and beyond.nats, "beyond_first_se": beyond and beyond.standard_error,
             "beyond_first_p": beyond and beyond.p}
        )  # fmt: skip
    if arguments.json:
        print_json(rows)
    else:
        print_tsv([*COLUMNS, *(BEYOND if len(rows) > 1 else [])], rows)


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse the command line. Raises `UsageError`."""
    parser = Parser("reading-times", HELP, usage="wordtie reading-times FILE ... --rt COLUMN [OPTION ...]")
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", help="tables of the same words, one for each model")
    add("--rt", metavar="COLUMN", required=True, help="reading times")
    add("--item", metavar="COLUMN", default="line", help="what tells items apart (line)")
    add("--surprisal", metavar="COLUMN", nargs="+", help="one or several (surprisal_bits)")
    add("--control", metavar="COLUMN", nargs="+", default=[], help="further predictors of both regressions, say region")
    add("--spillover", type=natural_number, metavar="N", help="words before, 0 for none (as many as FILE has)")
    add("--oov", choices=["keep", "drop", "flag"], default="keep", help=OOV)
    add("--log", action="store_true", help="take the logarithm of the reading times")
    add("--folds", type=whole_number, default=10, help="parts that the items are divided into (10)")
    add("--seed", type=seed, default=1, help="of the division and of the permutations (1)")
    add("--prefix", default="", help="of the columns, if `wordtie surprisal` had a --prefix")
    add("--figure", metavar="FILE", help="draw gains, and reading times by surprisal: .svg, .png or .pdf")
    add("--json", action="store_true", help="print a JSON list")
    arguments: argparse.Namespace = parser.parse_args(argv)
    if arguments.files.count("-") > 1 or len(set(arguments.files)) < len(arguments.files):
        raise UsageError("the same FILE is given twice: name each once")
    return arguments
