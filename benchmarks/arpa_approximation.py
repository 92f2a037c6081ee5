"""A mixture as an ARPA file: perplexity of the original, of its approximations, and of counted n-grams of each size.

    python -m benchmarks.arpa_approximation RUN --places 200000 --sampled 60000 > results/bench/arpa-approximation.tsv

RUN is the run folder of a mixture of a network and n-grams, whose training text is there. The model is asked once, and
approximations of several sizes are made of its answers. Counts are Kneser-Ney of the training text alone: the whole
model pruned as the approximation is, and minimum counts with which it is not larger. Perplexities are of validation
and test text, each sentence from an empty context for n-grams.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from wordtie.console import StageProgress
from wordtie.evaluation.perplexity import evaluate_blocks
from wordtie.export.arpa import counted
from wordtie.export.ngram_approximation import Approximation, expectations
from wordtie.inference.loading import load
from wordtie.inference.training_corpus import training_corpus
from wordtie.models.recent_words import without_recent_words
from wordtie.ngrams.backoff import BackoffModel, to_trie

SIZES = (100_000, 200_000, 400_000)
COLUMNS = ("corpus", "size", "model", "n-grams", "valid", "test", "places", "sampled")


def main(arguments: Sequence[str]) -> None:
    """Print a row for each model and size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("--order", type=int, default=4)
    parser.add_argument("--places", type=int)
    parser.add_argument("--sampled", type=int, default=500_000)
    parsed = parser.parse_args(arguments)
    loaded = load(parsed.run)
    data = training_corpus(loaded, parsed.run)
    train_N, valid_N, test_N = (np.asarray(each) for each in (data.train, data.valid, data.test))
    settings = Approximation(parsed.order, None, parsed.sampled, places=parsed.places)
    asked = expectations(loaded.model, train_N, data.tokenizer.sentences, settings, StageProgress())

    def show(size: int | None, name: str, ngrams: int | None, valid: float, test: float) -> None:
        places = len(train_N) if parsed.places is None else parsed.places
        cells = (
            data.info.corpus,
            size or "",
            name,
            ngrams or "",
            f"{valid:.2f}",
            f"{test:.2f}",
            places,
            parsed.sampled,
        )
        print(*cells, sep="\t", flush=True)

    def show_ngrams(size: int, name: str, model: BackoffModel) -> None:
        trie = to_trie(model)
        perplexities = (float(np.exp(-trie.log_probabilities(text).mean())) for text in (valid_N, test_N))
        show(size, name, model.ngrams, *perplexities)

    print(*COLUMNS, sep="\t")
    original = without_recent_words(loaded.model)
    show(None, "original", None, *(evaluate_blocks(original, [text]).perplexity for text in (valid_N, test_N)))
    for size in SIZES:
        show_ngrams(size, "approximation", asked.approximation(valid_N, size))
        for name, model in counted(train_N, len(data.vocabulary), parsed.order, asked.counted.eos_id, size):
            show_ngrams(size, name, model)


if __name__ == "__main__":
    main(sys.argv[1:])
