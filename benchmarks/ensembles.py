"""What a mixture of several seeds gains over one run: `wordtie mix RUN RUN2 ...`.

    python -m benchmarks.ensembles                  the texts that results/bench/ensembles.tsv lacks
    python -m benchmarks.ensembles ptb              this text

Each seed is trained on two million tokens, as `wordtie train --time` plans them, and mixed with the same 5-grams and
with recent words. Perplexities are of the test text; the weights are fitted on the validation text.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import wordtie
from benchmarks import names_given
from benchmarks.compared import RESULTS, add_rows
from benchmarks.environment import machine
from benchmarks.planned import planned, training_on
from benchmarks.quality.texts import TEXTS
from wordtie.config import Settings
from wordtie.inference.evaluate import evaluate_split
from wordtie.inference.mix import mix
from wordtie.runs.provenance import code_version

TOKENS, SEEDS = 2_000_000, 3
FILE = RESULTS / "ensembles.tsv"
COLUMNS = ("text", "tokens", *(f"{number} seeds" for number in range(1, SEEDS + 1)), "version", "processor")


def measure(text: str, tokens: int = TOKENS) -> tuple[str, ...]:
    """A row of the table."""
    data = TEXTS[text]()
    with tempfile.TemporaryDirectory() as folder:
        runs = [Path(folder) / f"seed-{seed}" for seed in range(1, SEEDS + 1)]
        for seed, run in enumerate(runs, 1):
            settings = planned(Settings(data, training=training_on(tokens, threads=1)), [])
            wordtie.train(settings, run, ngram=5, seed=seed)
        opened = [runs[0]]
        for number in range(2, SEEDS + 1):
            opened.append(Path(folder) / f"mixed-{number}")
            mix(runs[:number], opened[-1])
        found = [evaluate_split(wordtie.load(each), each).perplexity for each in opened]
    return text, f"{tokens}", *(f"{each:.2f}" for each in found), code_version(), machine()["processor"]


def main(texts: Sequence[str], file: Path = FILE) -> None:
    """Measure these texts, two if there are none, unless the file has them."""
    add_rows(file, COLUMNS, {(text,): partial(measure, text) for text in texts or ("ptb", "sotu")})


if __name__ == "__main__":
    main(names_given(__doc__))
