"""On which words one model is better than another: nats per token, by the word's frequency in the training text.

    python -m wordtie.reproduction.analyses.by_frequency RUN [RUN ...] > results/search/NAME.tsv

Measured on the first run's validation and test text, each read as one stream. `share` is the share of the text's
tokens; the words of a line occur at least `from` times, and less often than those of the next line. Perplexity weighs
a gain on rare words by how many of them a text has, so two models may change places between two texts.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordtie.data.batches import Ids
from wordtie.errors import DataError
from wordtie.evaluation.perplexity import Reader
from wordtie.exits import exit_code_of
from wordtie.inference.loading import load
from wordtie.inference.training_corpus import is_of, training_corpus
from wordtie.models.next_word import NextWordModel

FROM = (0, 10, 100, 1_000, 10_000)
"""Minimum number of occurrences in the training text, for the words of each line."""


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table.

    Raises `RunFolderError` if there is no such run or the first one's text has changed, `DataError` for runs with
    other words or another text than the first, or if its text is missing.
    """
    parser = argparse.ArgumentParser(
        "python -m wordtie.reproduction.analyses.by_frequency",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", nargs="+", type=Path, help="run folders of language models of the same text and words")
    folders = parser.parse_args(argv).run
    loaded = [load(folder) for folder in folders]
    data = training_corpus(loaded[0], folders[0])
    for folder, each in zip(folders, loaded, strict=True):
        if each.tokenizer.vocabulary != data.vocabulary:
            raise DataError(f"{folder}: has other words than {folders[0]}: compare models of one vocabulary")
        if not is_of(each, data):
            raise DataError(f"{folder}: was trained on another text than {folders[0]}: compare models of one text")
    count_V = np.bincount(data.train, minlength=len(data.vocabulary))
    writer = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
    writer.writerow(["text", "from", "share", *(folder.name for folder in folders)])
    for text, ids in (("valid", data.valid), ("test", data.test)):
        nats = [nats_of(each.model, ids) for each in loaded]
        for least, share, means in lines(count_V[ids], nats):
            writer.writerow([text, least, f"{share:.4f}", *(f"{mean:.4f}" for mean in means)])


def nats_of(model: NextWordModel[Any], ids: Ids) -> NDArray[np.float64]:
    """Return the nats of each token, (N,)."""
    return math.log(2) * np.concatenate([surprisal for surprisal, _ in Reader(model)(ids)])


def lines(
    count_N: NDArray[np.integer], nats: Sequence[NDArray[np.float64]]
) -> Iterator[tuple[int, float, list[float]]]:
    """Yield (minimum count, share of the tokens, each model's mean nats) for each line that has tokens."""
    line_N = np.searchsorted(FROM, count_N, side="right") - 1
    for number, least in enumerate(FROM):
        here_N = line_N == number
        if here_N.any():
            yield least, float(here_N.mean()), [float(each_N[here_N].mean()) for each_N in nats]


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
