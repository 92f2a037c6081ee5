"""How much dropout and noise a short text needs, which is read many times over.

    python -m benchmarks.short_texts                 the rows that results/bench/short-texts.tsv lacks
    python -m benchmarks.short_texts ptb             of this text

Each row trains on the first sentences of a text, about so many words of them: on two million tokens, as `wordtie train
--time` plans them, or without a time until validation no longer improves (tokens: `-`). Of the words read, data noising
with Kneser-Ney replaces up to a share of `gamma`. Perplexities are of the validation text, which is whole: of the
network, and of its mixture with 5-grams and recent words. What follows from it is in `wordtie.training.recipe.NOISES`
and, without a time, `wordtie.training.recipe.USUAL_EPOCHS`.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import names_given
from benchmarks.compared import DATA_NOISING, DROPPED, RESULTS, Measured, add_rows
from benchmarks.environment import machine
from benchmarks.planned import planned, trained, training_on, until_no_better
from wordtie.config import DataSettings, Settings
from wordtie.config.keywords import settings_from
from wordtie.data.catalogue import locate
from wordtie.reproduction.render import generated_blocks
from wordtie.runs.provenance import code_version

TEXTS = ("ptb", "wikitext-2")
GAMMAS = (0.0, 0.1, 0.3)
DROPOUTS: Mapping[int | None, Mapping[int, Sequence[float]]] = {
    2_000_000: {100_000: (0.5,), 300_000: (0.3,)},
    None: {100_000: (0.3, 0.5), 300_000: (0.3, 0.5)},
}
"""By tokens of the training (None: until validation no longer improves) and by words of the text. For a number of
tokens, it is what is planned."""
PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "your-own-text.md"
BEGIN, END = "<!-- short texts: begin -->", "<!-- short texts: end -->"
FILE = RESULTS / "short-texts.tsv"
SHOWN = ("text", "words", "tokens", "dropout", "gamma", "epochs", "network", "mixture")
COLUMNS = (*SHOWN, "version", "processor")


def main(texts: Sequence[str]) -> None:
    """Measure the rows of these texts, of all if there are none, that the file lacks; then write the page's table."""
    rows: dict[tuple[str, ...], Measured] = {
        (text, *key_of(words, tokens, dropout, gamma)): partial(measure, text, words, tokens, dropout, gamma)
        for text in texts or TEXTS
        for tokens, lengths in DROPOUTS.items()
        for words, dropouts in lengths.items()
        for dropout in dropouts
        for gamma in GAMMAS
    }
    add_rows(FILE, COLUMNS, rows)
    generated_blocks.replace(PAGE, BEGIN, END, table())


def table() -> str:
    """The rows as a table of Markdown."""
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file, delimiter="\t"), key=order)
    lines = [SHOWN, ("---",) * len(SHOWN), *([with_commas(row[name]) for name in SHOWN] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def order(row: dict[str, str]) -> tuple[Any, ...]:
    """Sort key of a row."""
    return row["text"], row["tokens"] == "-", int(row["words"]), float(row["dropout"]), float(row["gamma"])


def with_commas(entry: str) -> str:
    """An entry of the table."""
    return f"{int(entry):,}" if entry.isdecimal() else entry


def key_of(words: int, tokens: int | None, dropout: float, gamma: float) -> tuple[str, ...]:
    """What distinguishes the rows of a text."""
    return f"{words}", f"{tokens or '-'}", f"{dropout:g}", f"{gamma:g}"


def measure(text: str, words: int, tokens: int | None, dropout: float, gamma: float) -> tuple[str, ...]:
    """A row."""
    given: dict[str, Any] = {**DATA_NOISING, "noise.gamma": gamma} if gamma else {"noise.kind": "none"}
    given |= dict.fromkeys(DROPPED, dropout)
    with tempfile.TemporaryDirectory() as folder:
        write_start(text, words, Path(folder))
        data = DataSettings(corpus=folder)
        if tokens is None:
            settings = until_no_better(data, {"training.threads": 1, **given})
        else:
            start = Settings(data, training=training_on(tokens, threads=1))
            settings = planned(settings_from(start, **given), given)
        epochs, *perplexities = trained(settings, Path(folder) / "run")
    trained_by = code_version(), machine()["processor"]
    return text, *key_of(words, tokens, dropout, gamma), epochs, *perplexities, *trained_by


def write_start(text: str, words: int, folder: Path) -> None:
    """The first sentences of a text, of so many words together; validation and test text as they are."""
    for split, sources in locate(text).items():
        content = sources[0].path.read_text(encoding="utf-8")
        if split == "train":
            lines, count = [], 0
            for line in content.splitlines(keepends=True):
                count += len(line.split()) + 1
                if count > words:
                    break
                lines.append(line)
            content = "".join(lines)
        (folder / f"{split}.txt").write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main(names_given(__doc__))
