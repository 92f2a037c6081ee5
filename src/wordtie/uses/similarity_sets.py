"""Where the five word-similarity benchmarks of the papers are on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from wordtie.errors import DataError

BENCHMARKS = {
    "SimLex-999": "EN-SIMLEX-999.txt",
    "Verb-143": "EN-VERB-143.txt",
    "MEN": "EN-MEN-TR-3k.txt",
    "Rare-Word": "EN-RW-STANFORD.txt",
    "MTurk-771": "EN-MTurk-771.txt",
}


def standard() -> dict[str, Path]:
    """Name to file, in `$WORDTIE_DATA/wordsim` or `../shared/data/wordsim`. Raises `DataError` where one is missing."""
    roots = [Path(os.environ["WORDTIE_DATA"])] if os.environ.get("WORDTIE_DATA") else []
    for root in [*roots, Path("..", "shared", "data")]:
        found = {name: root / "wordsim" / file for name, file in BENCHMARKS.items()}
        if all(file.is_file() for file in found.values()):
            return found
    raise DataError(f"put {', '.join(BENCHMARKS.values())} into $WORDTIE_DATA/wordsim, or give --benchmark FILE")
