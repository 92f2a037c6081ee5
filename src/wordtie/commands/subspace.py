"""`wordtie subspace`: how far apart the spaces spanned by word matrices are."""

from __future__ import annotations

from wordtie.commands._shared import Parser, UsageError, print_json, print_tsv
from wordtie.runs.ready import run_path

HELP = """\
Measure how far apart the spaces of two word matrices are.

The distance is 0 if they span the same space and 1 if the spaces are orthogonal (inan-2017, appendix B).
SOURCE is a run folder, a side of one (runs/ptb:output), or a vectors file. One run folder alone is an untied model,
whose input and output matrices are compared. Two sources are compared on the words that they have in common.
The distance of unrelated matrices is about sqrt(1 - size / words), which is printed too. It counts all directions
alike; `outside` is the share of the second matrix, by its norm, that lies outside the space of the first.

examples:
  wordtie subspace runs/ptb-untied
  wordtie subspace runs/a:output runs/b:output
  wordtie subspace runs/ptb-untied --json          with all principal angles
"""


def main(argv: list[str]) -> None:
    """Print the distance, the ranks and the angles."""
    parser = Parser("subspace", HELP)
    parser.add_argument("first", metavar="SOURCE", help="a run folder, RUN:SIDE, or a vectors file")
    parser.add_argument("second", metavar="SOURCE", nargs="?", help="what to compare it with")
    parser.add_argument("--json", action="store_true", help="print a JSON object, with all angles in degrees")
    arguments = parser.parse_args(argv)

    import numpy as np

    from wordtie.vectors.extraction import open_vectors, sides
    from wordtie.vectors.subspace import compare_spaces

    if arguments.second:
        sets = [open_vectors(arguments.first), open_vectors(arguments.second)]
    elif not (folder := run_path(arguments.first)).is_dir():
        if not folder.exists() and ":" not in folder.name:
            raise UsageError(f"{arguments.first}: no such run folder")
        raise UsageError(f"{arguments.first}: is one set of vectors: name a second source to compare it with")
    elif len(sets := list(sides(folder).values())) < 2:
        raise UsageError(f"{arguments.first}: is tied, so both its matrices are one: name a second source")
    first, second = sets
    words, found = compare_spaces(first, second)
    degrees = np.degrees(found.angles)
    row: dict[str, object] = {
        "first": first.name,
        "second": second.name,
        "words": words,
        "rank_first": found.ranks[0],
        "rank_second": found.ranks[1],
        "distance": found.distance,
        "outside": found.outside,
        "unrelated": max(0.0, 1 - min(found.ranks) / words) ** 0.5,
        "smallest_angle": float(degrees.min()),
        "largest_angle": float(degrees.max()),
    }
    if arguments.json:
        print_json({**row, "angles": degrees.tolist()})
    else:
        print_tsv(list(row), [row])
