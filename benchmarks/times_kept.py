"""Whether `wordtie train TEXT --time` ends in time, where that is hard: a short time, a long text, a huge vocabulary.

    python -m benchmarks.times_kept                 the rows that results/bench/times-kept.tsv lacks
    python -m benchmarks.times_kept ptb             of this text

`500k words` is a text of five million words drawn at random from half a million, so frequent ones are as frequent as in
natural text; nothing can be learnt from it but the frequencies. Seconds are of the whole command, start included.
Perplexities are of the test text, or of the part that is measured; `n-gram` is empty if there was no time to count.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import names_given
from benchmarks.compared import RESULTS, Measured, add_rows
from benchmarks.environment import machine
from wordtie.config import parse_time
from wordtie.runs.provenance import code_version

TIMES = {"ptb": "80s", "imdb": "30s", "500k words": "2m"}
WORDS, LENGTH, LINE = 500_000, 5_000_000, 25
SPLITS = {"train": 0.98, "valid": 0.01, "test": 0.01}
FILE = RESULTS / "times-kept.tsv"
COLUMNS = ("text", "time", "given", "taken", "tokens", "network", "n-gram", "mixture", "version", "processor")


def random_text(folder: Path, words: int = WORDS, length: int = LENGTH) -> Path:
    """Write a text whose word of rank r has a probability in proportion to 1 / (r + 2.7)."""
    generator = np.random.default_rng(1)
    share_V = 1 / (np.arange(words) + 2.7)
    ids_N = np.concatenate([np.arange(words), generator.choice(words, length, p=share_V / share_V.sum())])
    first = 0
    folder.mkdir()
    for split, share in SPLITS.items():
        last = first + int(share * len(ids_N)) if split != "test" else len(ids_N)
        with (folder / f"{split}.txt").open("w", encoding="utf-8") as file:
            for start in range(first, last, LINE):
                print(*(f"w{word}" for word in ids_N[start : min(start + LINE, last)]), file=file)
        first = last
    return folder


def measure(text: str, given: str) -> tuple[str, ...]:
    """A row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = str(random_text(Path(folder) / "words")) if " " in text else text
        command = ["train", corpus, "--time", given, "--out", str(Path(folder) / "run"), "--json"]
        started = time.monotonic()
        printed = subprocess.run([sys.executable, "-m", "wordtie", *command], stdout=subprocess.PIPE, check=True).stdout
        taken = time.monotonic() - started
        found = json.loads(printed)
    figures = [found, found["ngram"] or {}, found["mixture"] or {}]
    perplexities = [f"{each['test_perplexity']:.2f}" if each else "" for each in figures]
    return (
        text, given, f"{parse_time(given, '--time'):.0f}", f"{taken:.1f}", f"{found['tokens_seen']}",
        *perplexities, code_version(), machine()["processor"],
    )  # fmt: skip


def main(texts: Sequence[str], file: Path = FILE) -> None:
    """Measure these texts, all if there are none, unless the file has them."""
    rows: dict[tuple[str, ...], Measured] = {
        (text, given): partial(measure, text, given) for text, given in TIMES.items() if text in (texts or TIMES)
    }
    add_rows(file, COLUMNS, rows)


if __name__ == "__main__":
    main(names_given(__doc__))
