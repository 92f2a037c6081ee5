"""`wordtie similarity`: Spearman's rho of word vectors on word-similarity benchmarks."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from wordtie.commands._shared import Parser, print_json, print_tsv, seed

if TYPE_CHECKING:
    from wordtie.models.word_vectors import WordVectors

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
    parser.add_argument("--seed", type=seed, default=0, help="of the bootstrap (0)")
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    arguments = parser.parse_args(argv)

    from wordtie.evaluation.word_similarity import difference, read_benchmark, similarity
    from wordtie.uses.similarity_sets import standard
    from wordtie.uses.vectors import open_vectors

    files = [Path(file) for file in arguments.benchmark] if arguments.benchmark else list(standard().values())
    benchmarks = [read_benchmark(file) for file in files]
    first, *others = sets = [open_vectors(source) for source in arguments.vectors]
    rows: list[dict[str, object]] = [
        {"benchmark": b.name, "vectors": v.name, **dataclasses.asdict(similarity(v, b, arguments.seed))}
        for b in benchmarks
        for v in sets
    ]
    compared: list[dict[str, object]] = [
        {"benchmark": b.name, "vectors": f"{first.name} - {v.name}", **dataclasses.asdict(difference(first, v, b))}
        for b in benchmarks
        for v in others
    ]
    agreed = agreements(sets) if arguments.agreement else []
    if arguments.json:
        print_json({"similarity": rows, "difference": compared, "agreement": agreed})
        return
    for number, table in enumerate(filter(None, (rows, compared, agreed))):
        if number:
            print()
        print_tsv(list(table[0]), table)


def agreements(sets: list[WordVectors]) -> list[dict[str, object]]:
    """Every two of the sets."""
    from wordtie.evaluation.embedding_agreement import agreement

    return [
        {"vectors": f"{a.name} ~ {b.name}", **dataclasses.asdict(agreement(a, b))}
        for number, a in enumerate(sets)
        for b in sets[number + 1 :]
    ]
