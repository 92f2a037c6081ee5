"""`wordtie pairs`: minimal pairs."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from typing import TYPE_CHECKING

from wordtie.commands._shared import (
    Parser,
    UsageError,
    add_part,
    check_stdin_once,
    print_json,
    print_tsv,
    read_lines,
    text_name,
)
from wordtie.config.paths import path_of
from wordtie.runs.ready import names_a_model

if TYPE_CHECKING:
    from wordtie.inference.loading import LoadedModel
    from wordtie.inference.pairs import Pair

HELP = """\
Measure how often a model prefers the grammatical sentence of a minimal pair.

A FILE is a table (CSV, with tabs, or JSON Lines as BLiMP's) with a pair per row, and is one set. The output has a line
for each set, and one for all pairs:
  pairs, accuracy          share of pairs whose good sentence is likelier; a tie counts as half
  ties                     pairs whose sentences have the same score
  oov_pairs                pairs with a word outside the vocabulary
  accuracy_without_oov     accuracy over the other pairs

examples:
  wordtie pairs runs/ptb blimp/*.jsonl
  wordtie pairs runs/ptb pairs.csv --good grammatical --bad ungrammatical
  wordtie pairs runs/seed-1 runs/seed-2 blimp/*.jsonl --mean
"""
COLUMNS = ["set", "pairs", "accuracy", "ties", "oov_pairs", "accuracy_without_oov"]
ENDINGS = re.compile(r"\.(jsonl|json|csv|tsv|txt)(\.gz)?$")
AVERAGED = ("accuracy", "accuracy_without_oov", "ties")
"""Values that differ between models of one vocabulary; pairs with a word outside it are the same for all."""


def main(argv: list[str]) -> None:
    """Score the pairs, and print accuracies."""
    parser = Parser("pairs", HELP, usage="wordtie pairs RUN [RUN ... --mean] FILE ... [OPTION ...]")
    parser.add_argument("run", metavar="RUN", help="a trained model: a run folder, an ARPA file, or `en`")
    parser.add_argument("files", metavar="FILE", nargs="+", help="tables of pairs (-: stdin)")
    parser.add_argument("--good", metavar="COLUMN", default="sentence_good", help="the good sentences (sentence_good)")
    parser.add_argument("--bad", metavar="COLUMN", default="sentence_bad", help="the bad sentences (sentence_bad)")
    parser.add_argument("--mean", action="store_true", help="mean and standard deviation (_sd) over several RUNs, "
                        "which share one vocabulary")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    add_part(parser)
    arguments = parser.parse_args(argv)
    runs, files = [arguments.run], list(arguments.files)
    while arguments.mean and len(files) > 1 and names_a_model(files[0]):
        runs.append(files.pop(0))
    if arguments.mean and len(runs) == 1:
        raise UsageError("--mean needs several RUNs, before the FILEs")
    check_stdin_once(*files)

    from wordtie.console import say
    from wordtie.data.input_warnings import SAMPLE, misread
    from wordtie.inference.loading import load
    from wordtie.inference.pairs import read_pairs
    from wordtie.inference.regions import same_tokenizer

    sets = {text_name(file): read_pairs(read_lines(file), text_name(file), arguments.good, arguments.bad)
            for file in files}  # fmt: skip
    models = [load(run, part=arguments.part) for run in runs]
    same_tokenizer(models)
    for name, pairs in sets.items():
        notes = misread(models[0].tokenizer, [text for pair in pairs[:SAMPLE] for text in (pair.good, pair.bad)])
        say(f"{name}: {note}" for note in notes)
    rows = combined([accuracies(model, sets) for model in models])
    if arguments.json:
        print_json(rows)
    else:
        print_tsv([*COLUMNS, *(f"{name}_sd" for name in AVERAGED if len(models) > 1)], rows)


def names_of_sets(files: list[str]) -> dict[str, str]:
    """Return the name of each file without its ending, or its whole path if several files would have the same name.

    >>> names_of_sets(["blimp/wh_island.jsonl", "p.dev.csv", "a/x.csv", "b/x.csv"])
    {'blimp/wh_island.jsonl': 'wh_island', 'p.dev.csv': 'p.dev', 'a/x.csv': 'a/x.csv', 'b/x.csv': 'b/x.csv'}
    """
    short = {file: ENDINGS.sub("", path_of(file).name) or file for file in files}
    taken = Counter(short.values())
    return {file: name if taken[name] == 1 else file for file, name in short.items()}


def accuracies(model: LoadedModel, sets: dict[str, list[Pair]]) -> list[dict[str, object]]:
    """Return a row for each set, and one for all of them if there are several."""
    from wordtie.inference.pairs import accuracy, score_pairs

    scores = {file: score_pairs(model, pairs) for file, pairs in sets.items()}
    names = names_of_sets(list(scores))
    found = [accuracy(names[file], of_set) for file, of_set in scores.items()]
    if len(sets) > 1:
        found.append(accuracy("all", [score for of_set in scores.values() for score in of_set]))
    return [dataclasses.asdict(each) for each in found]


def combined(of_models: list[list[dict[str, object]]]) -> list[dict[str, object]]:
    """Return the rows of one model, or the means of several."""
    from wordtie.inference.regions import mean_of

    return [mean_of(same, AVERAGED) for same in zip(*of_models, strict=True)]
