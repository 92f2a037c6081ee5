"""One file for each kind of claim of speed or memory; `wordtie bench` runs them.

`CLAIM_FILES` is every file, in the order of docs/performance.md; each has a tuple `CLAIMS`. The other files are
programs of their own, `python -m benchmarks.NAME`, which print a table.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

CLAIM_FILES = (
    "small_real",
    "small_vd_lstm",
    "medium_real",
    "small_dropout_lstm",
    "sampled_softmax",
    "products",
    "recurrence",
    "loss_memory",
    "kept_memory",
    "noise",
    "cells",
    "scoring",
    "rescoring",
    "vocabulary",
    "translation",
    "word2vec",
    "start_up",
    "keyboard",
    "serving",
    "gpu_large_real",
    "gpu_side_by_side",
    "gpu_growth",
)


def names_given(usage: str | None, fewest: int = 0) -> Sequence[str]:
    """The command line of a program that takes names alone; for anything else, `--help` first of all, its docstring."""
    given = sys.argv[1:]
    wants_help = any(each in ("-h", "--help") for each in given)
    if wants_help or len(given) < fewest or any(each.startswith("-") for each in given):
        print(usage, file=sys.stdout if wants_help else sys.stderr)
        sys.exit(0 if wants_help else 2)
    return given
