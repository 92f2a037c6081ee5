"""`wordtie similarity`: Spearman's rho of word vectors on word-similarity benchmarks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from wordtie.commands._shared import Parser, UsageError, print_json, print_tsv, seed
from wordtie.config.paths import path_of
from wordtie.errors import DataError

if TYPE_CHECKING:
    from wordtie.vectors.similarity import Benchmark

HELP = """\
Judge word vectors by what people find similar.

VECTORS are vectors files, run folders, or a side of one (runs/ptb:output). Each is ranked by Spearman's rho on the
pairs it covers, with a 95 % bootstrap interval; with two or more, each further one is compared with the first on the
pairs that both cover, in a table of its own after a blank line. A benchmark is a file of `word word score` lines;
without --benchmark they are SimLex-999, Verb-143, MEN, Rare-Word and MTurk-771 in $WORDTIE_DATA/wordsim.

examples:
  wordtie similarity runs/ptb:input runs/ptb:output
  wordtie similarity ptb.txt --benchmark pairs.tsv --json
  wordtie similarity runs/tied runs/untied:output --agreement
"""


def main(argv: list[str]) -> None:
    """Print a row for each set of vectors and benchmark, then the comparisons."""
    parser = Parser("similarity", HELP)
    parser.add_argument("vectors", metavar="VECTORS", nargs="+", help="a vectors file, or RUN or RUN:SIDE")
    parser.add_argument("--benchmark", action="append", metavar="FILE", help="a benchmark file; may be repeated")
    parser.add_argument(
        "--agreement", action="store_true", help="also: do they find the same words similar, over all pairs of words?"
    )
    parser.add_argument("--seed", type=seed, default=0, help="of the bootstrap, and of the sample of --agreement (0)")
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    arguments = parser.parse_args(argv)

    if arguments.agreement and len(arguments.vectors) < 2:
        raise UsageError("--agreement is of two sets of vectors or more; see `wordtie similarity --help`")

    from wordtie.vectors.extraction import open_vectors
    from wordtie.vectors.judgement import agreements, judge

    benchmarks = find_benchmarks(arguments.benchmark, may_be_missing=arguments.agreement)
    sets = [open_vectors(source) for source in arguments.vectors]
    found = judge(sets, benchmarks, arguments.seed)
    nothing = bool(found.not_ranked) and all(row["rho"] is None for row in found.similarity)
    for reason in found.not_ranked[:-1] if nothing else found.not_ranked:
        print(f"wordtie: {reason}", file=sys.stderr)
    if nothing:
        raise found.not_ranked[-1]
    agreed = agreements(sets, arguments.seed) if arguments.agreement else []
    if arguments.json:
        print_json({"similarity": found.similarity, "difference": found.difference, "agreement": agreed})
        return
    for number, table in enumerate(filter(None, (found.similarity, found.difference, agreed))):
        if number:
            print()
        print_tsv(list(table[0]), table)


def find_benchmarks(files: list[str] | None, may_be_missing: bool) -> list[Benchmark]:
    """Read the benchmarks named, else the standard ones. Raises `DataError`, unless it is for standard ones that
    `may_be_missing`, which is then printed."""
    from wordtie.vectors.benchmarks import standard
    from wordtie.vectors.similarity import read_benchmark

    try:
        return [read_benchmark(file) for file in (map(path_of, files) if files else standard().values())]
    except DataError as error:
        if files or not may_be_missing:
            raise
        print(f"wordtie: {error}", file=sys.stderr)
        return []
