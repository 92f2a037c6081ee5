"""Kneser-Ney 5-grams, stored compactly: what each corpus costs in seconds and bytes, and what dropping n-grams saves.

    python -m benchmarks.ngrams ptb sotu wikitext-2 imdb > results/bench/ngrams.tsv

Seconds are of one thread's CPU time, the least of several rounds, so that a busy machine changes them little. Words
a second are of the first `SCORED` words of the test text, `WINDOW` at a time, as `wordtie evaluate` and
`wordtie surprisal` read them; `next` is the distribution over all words after one context.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks import names_given
from wordtie.config import DataSettings
from wordtie.data.prepare import prepare
from wordtie.data.token_file import PreparedData
from wordtie.ngrams import NgramModel, NgramTrie, fit_kneser_ney, open_trie, write_trie

MINIMUM_COUNTS = ((1, 1, 1, 1, 1), (1, 1, 1, 2, 2), (1, 1, 2, 2, 2), (1, 2, 2, 2, 2))
ROUNDS, SCORED, WINDOW, STATES = 3, 16_384, 1024, 300
COLUMNS = ("corpus", "minimum counts", "n-grams", "MB", "of the text", "fit s", "open ms", "valid", "test",
           "words/s", "with entropy", "next us")  # fmt: skip


def main(corpora: Sequence[str]) -> None:
    """Print a row for each corpus and choice of n-grams."""
    print(*COLUMNS, sep="\t")
    for corpus in corpora:
        for row in rows(corpus, prepare(DataSettings(corpus=corpus))):
            print(*row, sep="\t", flush=True)


def rows(corpus: str, data: PreparedData) -> Iterator[tuple[str, ...]]:
    """The rows of one corpus."""
    train = np.array(data.train)
    eos_id = data.vocabulary.eos_id if data.tokenizer.sentences else None
    for minimum in MINIMUM_COUNTS:
        began = time.process_time()
        fitted = fit_kneser_ney(train, len(data.vocabulary), len(minimum), eos_id=eos_id, minimum_counts=minimum)
        seconds = time.process_time() - began
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ngrams"
            write_trie(fitted, path)
            size, trie = path.stat().st_size, open_trie(path)
            opened = least(lambda path=path: open_trie(path))  # type: ignore[misc]
            perplexity = [np.exp(-trie.log_probabilities(ids).mean()) for ids in (data.valid, data.test)]
            yield (
                corpus, " ".join(map(str, minimum)), f"{trie.ngrams}", f"{size / 1e6:.1f}",
                f"{size / data.info.splits['train'].bytes:.2f}", f"{seconds:.1f}", f"{1e3 * opened:.1f}",
                *(f"{each:.2f}" for each in perplexity), *speeds(trie, data),
            )  # fmt: skip


def speeds(trie: NgramTrie, data: PreparedData) -> tuple[str, str, str]:
    """Words a second, the same with entropy, and microseconds for a distribution."""
    model, ids = NgramModel(data.vocabulary, trie), np.array(data.test[:SCORED])

    def score(entropy: bool) -> None:
        state = model.initial_state(1)
        for first in range(0, len(ids), WINDOW):
            _, _, state = model.score(ids[first : first + WINDOW, None], state, entropy)

    states = [model.initial_state(1)]
    for word in ids[:STATES]:
        states.append(model.advance(word[None, None], states[-1]))

    def next_words() -> None:
        for state in states:
            model.next(state)

    plain, with_entropy = (least(lambda entropy=entropy: score(entropy)) for entropy in (False, True))  # type: ignore[misc]
    return f"{len(ids) / plain:.0f}", f"{len(ids) / with_entropy:.0f}", f"{1e6 * least(next_words) / len(states):.0f}"


def least(work: Callable[[], object]) -> float:
    """CPU seconds of the quickest round."""
    found = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


if __name__ == "__main__":
    main(names_given(__doc__) or ["ptb"])
