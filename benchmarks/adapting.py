"""What adapting a model to another text gains there, and what it loses on the text that the model was trained on.

    python -m benchmarks.adapting sotu bbc > results/bench/adapting.tsv

A model of the first text is trained on 1.5 million tokens of it, with its 10,000 most frequent words. Each row then
adapts it to the second text, on 800,000 tokens, with all words that this has twice or more. Perplexities are of the
network and, with `mixed`, of its mixture with 5-grams, on validation text. Those of the first text are over its own
tokens, with its ids. `anew` is a model of the second text alone, on as many tokens and over the same words.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import wordtie
from wordtie.commands.train import ADAPTING_RATE
from wordtie.config.keywords import settings_from
from wordtie.config.recommended import RECOMMENDED
from wordtie.training.rehearsal import settings_to_extend

FIRST_TOKENS, TOKENS, WORDS = 1_500_000, 800_000, 10_000
SIZE = {"model.hidden": 192, "model.embedding": 96, "model.input_dropout": 0.0, "model.hidden_dropout": 0.0}
PLAN = {"training.schedule": "cosine", "training.patience": 0, "training.validations": 4}
TRIALS: dict[str, dict[str, Any]] = {
    "default": {},
    "no rehearsal": {"training.rehearsal": 0.0},
    "new words from the mean": {"training.new_words": "mean"},
    "rate 0.003": {"training.lr": 0.003},
    "rehearsal 0.5": {"training.rehearsal": 0.5},
    "rate 0.0003": {"training.lr": 0.0003},
}
"""What differs from the defaults of `--extend-vocabulary`, by the name of the row."""
COLUMNS = ("trial", "tokens", "new words", "first before", "first", "loss %", "second", "first mixed before",
           "first mixed", "loss mixed %", "second mixed")  # fmt: skip


def main(first: str, second: str, trials: Sequence[str]) -> None:
    """Print a row for each trial."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "base"
        train(first, base, vocabulary_size=WORDS, tokens=FIRST_TOKENS)
        print(*COLUMNS, sep="\t", flush=True)
        for row in rows(base, second, trials):
            print(*row, sep="\t", flush=True)


def rows(base: Path, second: str, trials: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The rows of one earlier run."""
    extended = settings_to_extend(str(base))
    started = {"training.start_from": str(base), "training.lr": ADAPTING_RATE}
    for name in trials:
        out = base.parent / name.replace(" ", "-")
        result = train(second, out, **{**extended, **started, **TRIALS[name]}, tokens=TOKENS)
        yield row(name, result, base)
    result = train(second, base.parent / "anew", **extended, rehearsal=0.0, tokens=TOKENS)
    yield row("anew", result, base)


def train(corpus: str, out: Path, **settings: Any) -> wordtie.TrainingResult:
    """With the recipe, but for the size and these settings."""
    recipe = {**RECOMMENDED, **SIZE, **PLAN, **{name: value for name, value in settings.items() if "." in name}}
    short = {name: value for name, value in settings.items() if "." not in name}
    recipe = {name: value for name, value in recipe.items() if name != "training.decay"}
    return wordtie.train(settings_from(corpus, **recipe, **short), out, ngram=5)


def row(name: str, result: wordtie.TrainingResult, base: Path) -> tuple[str, ...]:
    """The figures of a trial."""
    [earlier] = result.earlier or [{}]
    assert result.mixture is not None
    words = (result.text or {})["vocabulary_size"] - WORDS
    found = [name, f"{result.tokens_seen}", f"{words}"]
    for part, second in (("network", result.valid_perplexity), ("mixture", result.mixture["valid_perplexity"])):
        before, now = earlier[f"{part}_before"], earlier[part]
        found += [f"{before:.2f}", f"{now:.2f}", f"{100 * (now / before - 1):+.1f}", f"{second:.2f}"]
    return tuple(found)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:] or list(TRIALS))
