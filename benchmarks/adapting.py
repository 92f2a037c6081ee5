"""What adapting a model to another text gains there, and what it loses on the text that the model was trained on.

    python -m benchmarks.adapting sotu bbc > results/bench/adapting.tsv

A model of the first text is trained on four million tokens of it, with its 10,000 most frequent words. Each row then
adapts it to the second text, on 800,000 tokens, with all words that this has twice or more. Perplexities are of the
network and, with `mixed`, of its mixture with 5-grams, on 30,000 tokens of test texts: the share `kept` was chosen on
validation texts. Those of the first text are over its own tokens and words, before and after. `kept`: the share of the
change of earlier words' vectors that is kept, if forgetting is limited. `alone` is a model of the second text alone, on
as many tokens and over the same words.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import wordtie
from benchmarks import names_given
from wordtie.config.keywords import settings_from
from wordtie.config.recommended import ADAPTING_RATE, RECOMMENDED
from wordtie.training.recipe import samples_for
from wordtie.training.rehearsal import of_the_start, read_texts

FIRST_TOKENS, TOKENS, WORDS = 4_000_000, 800_000, 10_000
SIZE = {"model.hidden": 256, "model.embedding": 128, "model.input_dropout": 0.0, "model.hidden_dropout": 0.0}
PLAN = {
    "training.schedule": "cosine", "training.patience": 0, "training.validations": 4,
    "training.measured_tokens": 30_000,
}  # fmt: skip
TRIALS: dict[str, dict[str, Any]] = {
    "default": {},
    "limit 0.05": {"training.max_forgetting": 0.05},
    "no limit": {"training.max_forgetting": None},
    "no rehearsal": {"training.rehearsal": 0.0},
    "rehearsal 0.25": {"training.rehearsal": 0.25},
    "rehearsal 0.6": {"training.rehearsal": 0.6},
    "new words from the mean": {"training.new_words": "mean"},
    "rate 0.003": {"training.lr": 0.003},
}
"""What differs from the defaults of `--extend-vocabulary`, by the name of the row."""
COLUMNS = ("trial", "tokens", "new words", "kept", "first before", "first", "loss %", "second", "first mixed before",
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
    extended = of_the_start({"start_from": str(base)}, True)
    started = {"training.start_from": str(base), "training.lr": ADAPTING_RATE}
    for name in trials:
        out = base.parent / name.replace(" ", "-")
        result = train(second, out, **{**extended, **started, **TRIALS[name]}, tokens=TOKENS)
        yield row(name, result)
    result = train(second, base.parent / "alone", **extended, rehearsal=0.0, tokens=TOKENS)
    yield row("alone", result)


def train(corpus: str, out: Path, **settings: Any) -> wordtie.TrainingResult:
    """With the recipe, but for the size and these settings."""
    recipe = {**RECOMMENDED, **SIZE, **PLAN, **{name: value for name, value in settings.items() if "." in name}}
    short = {name: value for name, value in settings.items() if "." not in name}
    recipe = {name: value for name, value in recipe.items() if name != "training.decay"}
    chosen = settings_from(corpus, **recipe, **short)
    chosen = settings_from(chosen, **samples_for(len(read_texts(chosen.data).own.vocabulary)))
    return wordtie.train(chosen, out, ngram=5)


def row(name: str, result: wordtie.TrainingResult) -> tuple[str, ...]:
    """The figures of a trial."""
    assert result.mixture is not None
    assert result.earlier is not None
    [earlier] = result.earlier
    words = (result.text or {})["vocabulary_size"] - WORDS
    kept = "" if result.change_kept is None else f"{result.change_kept:g}"
    found = [name, f"{result.tokens_seen}", f"{words}", kept]
    for part, second in (("network", result.test_perplexity), ("mixture", result.mixture["test_perplexity"])):
        before, now = earlier[f"{part}_before"], earlier[part]
        found += [f"{before:.2f}", f"{now:.2f}", f"{100 * (now / before - 1):+.1f}", f"{second:.2f}"]
    return tuple(found)


if __name__ == "__main__":
    first, second, *some = names_given(__doc__, 2)
    main(first, second, some or list(TRIALS))
