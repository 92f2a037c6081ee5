"""`wordtie rescore`: n-best lists of speech recognisers and translation systems."""

from __future__ import annotations

import argparse
import dataclasses
import math
from argparse import Namespace
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Literal

from wordtie.commands._shared import (
    Parser,
    UsageError,
    add_part,
    check_stdin_once,
    print_json,
    read_lines,
    text_name,
    whole_number,
)
from wordtie.errors import DataError

if TYPE_CHECKING:
    from wordtie.data.nbest import NBestFormat, NBestList, RankedList
    from wordtie.inference.loading import LoadedModel
    from wordtie.inference.rescore import Reading, Weights

HELP = """\
Score or rank the hypotheses of n-best lists, of speech or translation.

Ids and order are kept. With a weight, --tune, --rerank or --best, hypotheses are ranked by
  total = score + lm-weight x log p + word-weight x words + unk-weight x unknown words

examples:
  wordtie rescore runs/novel lists.nbest > scored.nbest
  wordtie rescore runs/novel lists.nbest --lm-weight 0.4 --word-weight 0.5 --best
  wordtie rescore runs/novel test.nbest --tune dev.nbest --references dev.txt --best
  wordtie rescore runs/novel text --scores am.scores --costs --case lower
"""
FORMATS = ("kaldi", "nemo", "moses", "espnet", "jsonl")
FEW = 100
"""Number of lists to fit weights to; three weights that are fitted to fewer say little about other lists."""
MOST_SKIPPED = 100_000
"""Most blank lines in a row for sentences without a list: ids that skip more, such as dates, are no numbers of them."""


def main(argv: list[str]) -> None:
    """Print lists with scores, ranked lists, the best hypotheses, or weights."""
    parser = Parser("rescore", HELP, usage="wordtie rescore RUN [NBEST] [--tune DEV --references REF] [OPTION ...]")
    parser.add_argument("run", metavar="RUN", help="a run folder, an ARPA file, or `en`")
    parser.add_argument("nbest", metavar="NBEST", nargs="?", help="the lists, plain or .gz (-: stdin)")
    add_format(parser)
    parser.add_argument("--rerank", action="store_true", help="print each list best first")
    parser.add_argument("--best", action="store_true", help="print the best hypothesis of each list alone")
    for name, what, default in (("lm", "log p", 0.5), ("word", "words", 0.0), ("unk", "unknown words", 0.0)):
        parser.add_argument(f"--{name}-weight", type=number, metavar="X", help=f"weight of the {what} ({default:g})")
    parser.add_argument("--tune", metavar="DEV", help="fit the weights to these lists")
    parser.add_argument("--references", metavar="REF", help="of DEV: `utt-id text`; nemo, moses: a line per list")
    parser.add_argument("--tune-scores", metavar="FILE", nargs="+", default=[], help="kaldi: scores of DEV")
    parser.add_argument("--metric", choices=["wer", "bleu"], help="what --tune improves (bleu for moses, else wer)")
    parser.add_argument("--case", choices=["keep", "lower", "upper"], default="keep", help="as the model reads (keep)")
    parser.add_argument("--punctuation", choices=["keep", "drop"], default="keep", help="what the model reads (keep)")
    parser.add_argument("--unk", choices=["score", "skip"], default="score", help="log p of <unk>, or nothing (score)")
    parser.add_argument("--context", choices=["none", "best"], default="none", help="what a list continues: nothing, "
                        "or the best of the list before (none)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the weights of --tune as a JSON object")
    add_part(parser)
    arguments = parser.parse_args(argv)
    check(arguments)

    from wordtie.console import say
    from wordtie.inference.loading import load
    from wordtie.inference.rescore import Reading, Weights

    loaded = load(arguments.run, part=arguments.part)
    reading = Reading(arguments.case, arguments.punctuation, arguments.unk, arguments.context)
    given = {"lm": arguments.lm_weight, "word": arguments.word_weight, "unknown": arguments.unk_weight}
    weights = Weights(**{name: value for name, value in given.items() if value is not None})
    if arguments.tune:
        weights, report = tuned(loaded, arguments, reading, weights)
        if arguments.nbest is None:
            print_json(report) if arguments.json else print(summary(report))
            say(doubts(report))
            return
        say([summary(report), *doubts(report)])
    ranks = bool(arguments.tune or arguments.rerank or arguments.best or set(given.values()) != {None})
    rescored(loaded, arguments, reading, weights if ranks else None)


def add_format(parser: Parser) -> None:
    """Add the options that describe the lists."""
    parser.add_argument("--format", choices=FORMATS, help="of the lists (detected from their first line)")
    parser.add_argument("--list-size", type=whole_number, metavar="N", help="nemo: hypotheses of each list")
    parser.add_argument("--scores", metavar="FILE", nargs="+", default=[], help="kaldi: `utt-id score`, added up")
    parser.add_argument("--costs", action="store_true", help="kaldi: scores are costs, less is better")


def number(text: str) -> float:
    """An `argparse` type: a finite number."""
    try:
        if math.isfinite(value := float(text)):
            return value
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"must be a number, got {text}")


def check(arguments: Namespace) -> None:
    """Raise `UsageError` for options that do not go together."""
    if arguments.nbest is None and arguments.tune is None:
        raise UsageError("name the n-best lists, or --tune DEV --references REF; see `wordtie rescore --help`")
    if (arguments.tune is None) != (arguments.references is None):
        raise UsageError("--tune needs --references, and --references needs --tune")
    if arguments.tune is None and (arguments.metric or arguments.tune_scores or arguments.json):
        raise UsageError("--metric, --tune-scores and --json are for --tune: leave them out")
    weights = (arguments.lm_weight, arguments.word_weight, arguments.unk_weight)
    if arguments.tune and arguments.context == "none" and weights != (None, None, None):
        raise UsageError("--tune fits the weights: leave out --lm-weight, --word-weight and --unk-weight")
    if arguments.nbest is None and (arguments.rerank or arguments.best or arguments.scores):
        raise UsageError("--rerank, --best and --scores are for NBEST: name the lists")
    if arguments.nbest and arguments.tune and len(arguments.scores) != len(arguments.tune_scores):
        raise UsageError("weights are for scores of one kind: give --scores and --tune-scores as many files each")
    if arguments.json and arguments.nbest:
        raise UsageError("--json prints weights alone: leave out the n-best lists, or --json")
    given = [arguments.nbest, arguments.tune, arguments.references, *arguments.scores, *arguments.tune_scores]
    check_stdin_once(*given)


def opened(arguments: Namespace, file: str, scores: list[str]) -> tuple[str, NBestFormat, Iterator[NBestList]]:
    """Open a file; return (name of the format, the format, the lists)."""
    from wordtie.data.nbest import LONGEST_HYPOTHESIS
    from wordtie.data.nbest_files import FormatOptions, open_nbest

    columns = [(text_name(each), read_lines(each)) for each in scores]
    options = FormatOptions(arguments.list_size, columns, arguments.costs)
    return open_nbest(read_lines(file, LONGEST_HYPOTHESIS), text_name(file), arguments.format, options)


def tuned(
    loaded: LoadedModel, arguments: Namespace, reading: Reading, weights: Weights
) -> tuple[Weights, dict[str, object]]:
    """Fit the weights to DEV; return them and a report."""
    from wordtie.data.nbest import LONGEST_HYPOTHESIS
    from wordtie.data.nbest_files import BY_UTTERANCE, IN_ORDER, references_of
    from wordtie.inference.rescore import score_lists
    from wordtie.inference.rescore_tuning import tune

    name, _, lists = opened(arguments, arguments.tune, arguments.tune_scores)
    scored = list(score_lists(loaded, lists, reading, weights))
    references = references_of(
        [each.nbest for each in scored],
        read_lines(arguments.references, LONGEST_HYPOTHESIS),
        text_name(arguments.references),
        name in BY_UTTERANCE,
        name in IN_ORDER,
    )
    metric: Literal["wer", "bleu"] = arguments.metric or ("bleu" if name == "moses" else "wer")
    found = tune(scored, references, metric, reading)
    return found.weights, {"metric": metric, **dataclasses.asdict(found)}


def summary(report: dict[str, object]) -> str:
    """Format the report in one line, with the weights as options."""
    weights = report["weights"]
    assert isinstance(weights, dict)
    name = {"wer": "word error rate", "bleu": "BLEU"}[str(report["metric"])]
    return (
        f"--lm-weight {weights['lm']:.6g} --word-weight {weights['word']:.6g} --unk-weight {weights['unknown']:.6g}"
        f": {name} {report['after']:.2f}, {report['before']:.2f} before, {report['lists']:,} lists"
        + (f" ({report['signature']})" if report["signature"] else "")
    )


def doubts(report: dict[str, object]) -> list[str]:
    """Return a note if the weights were fitted to few lists."""
    lists = report["lists"]
    assert isinstance(lists, int)
    if lists >= FEW:
        return []
    return [f"the weights are fitted to {lists:,} lists, and may do worse on others: take {FEW} or more"]


def rescored(loaded: LoadedModel, arguments: Namespace, reading: Reading, weights: Weights | None) -> None:
    """Print the lists, ranked if there are weights."""
    from wordtie.inference.rescore import score_lists

    _, form, lists = opened(arguments, arguments.nbest, arguments.scores)
    scored = score_lists(loaded, lists, reading, weights)
    ordered = (each.unranked() if weights is None else each.ranked(weights) for each in scored)
    for line in best_lines(form, ordered, text_name(arguments.nbest)) if arguments.best else form.write(ordered):
        print(line)


def best_lines(form: NBestFormat, lists: Iterable[RankedList], where: str) -> Iterator[str]:
    """Yield the best of each list. With Moses, the line of sentence 7 is the eighth: a sentence without a list has a
    blank line.

    Raises `DataError` for lists of Moses that are not in the order of their sentences, or whose ids skip very many.
    """
    from wordtie.console import say
    from wordtie.data.nbest import Moses

    due = 0
    for ranked in lists:
        if isinstance(form, Moses):
            number, place = int(ranked.nbest.id), f"{where}, line {ranked.nbest.line}"
            if number < due:
                raise DataError(f"{place}: list {number} comes after list {due - 1}: sort the lists by id for --best")
            if number - due > MOST_SKIPPED:
                raise DataError(
                    f"{place}: --best would print {number - due:,} blank lines before list {number}, for sentences "
                    "without a list: make the ids numbers of sentences, from 0"
                )
            if (due, number) == (0, 1):
                say([f"{where}: has no list 0, so line 1 of the output is blank: ids are numbers of sentences, from 0"])
            yield from repeat("", number - due)
            due = number + 1
        yield form.best(ranked)
