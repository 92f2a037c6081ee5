"""The locations, on this machine, of the papers' five word-similarity benchmarks."""

from __future__ import annotations

from pathlib import Path

from wordtie.config.paths import data_folders
from wordtie.errors import DataError

BENCHMARKS = {
    "SimLex-999": "EN-SIMLEX-999.txt",
    "Verb-143": "EN-VERB-143.txt",
    "MEN": "EN-MEN-TR-3k.txt",
    "Rare-Word": "EN-RW-STANFORD.txt",
    "MTurk-771": "EN-MTurk-771.txt",
}


def standard() -> dict[str, Path]:
    """Map name to file, in `$WORDTIE_DATA/wordsim`. Raises `DataError` if one is missing."""
    for root in data_folders():
        found = {name: root / "wordsim" / file for name, file in BENCHMARKS.items()}
        if all(file.is_file() for file in found.values()):
            return found
    raise DataError(f"put {', '.join(BENCHMARKS.values())} into $WORDTIE_DATA/wordsim, or give --benchmark FILE")
