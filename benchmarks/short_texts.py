"""How much noise a short text needs, which is read many times over in the minutes given.

    python -m benchmarks.short_texts                 results/bench/short-texts.tsv, and the table on the page
    python -m benchmarks.short_texts ptb > my.tsv    of these texts, elsewhere

Each row trains on the first sentences of a text, so many words of them, with the size and the dropout that `wordtie
train --time` plans for two million tokens. Of the words read, data noising with Kneser-Ney replaces up to a share of
`gamma`. Perplexities are of the validation text, which is whole: of the network, and of its mixture with 5-grams and
recent words. The rule that follows from it is `wordtie.training.plan.NOISES`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import wordtie
from benchmarks import names_given
from wordtie.config import DataSettings, NoiseSettings, Settings, TrainingSettings
from wordtie.data.catalogue import locate
from wordtie.data.prepare import prepare
from wordtie.reproduction.render import generated_blocks
from wordtie.training.plan import Lengths, choose
from wordtie.training.timings import Timings

TEXTS = ("ptb", "wikitext-2")
LENGTHS = (100_000, 300_000)
GAMMAS = (0.0, 0.1, 0.3)
TOKENS = 2_000_000
TRAINING = TrainingSettings(tokens=TOKENS, validations=4, schedule="cosine", patience=0)
NO_MATTER = Timings(window=0.05, validation=1e-5, measuring=3e-5)
"""The number of tokens is given, so that nothing depends on the speed."""
PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "your-own-text.md"
BEGIN, END = "<!-- short texts: begin -->", "<!-- short texts: end -->"
RESULTS = Path(__file__).parent.parent / "results" / "bench" / "short-texts.tsv"
COLUMNS = ("text", "words", "epochs", "dropout", "gamma", "network", "mixture")


def main(texts: Sequence[str]) -> None:
    """Print rows of these texts; of the usual ones, if there are none, into the file and the page."""
    if texts:
        measure(texts, sys.stdout)
        return
    with RESULTS.open("w", encoding="utf-8") as file:
        measure(TEXTS, file)
    generated_blocks.replace(PAGE, BEGIN, END, table(RESULTS.read_text(encoding="utf-8")))


def table(rows: str) -> str:
    """The rows as a table of Markdown."""
    header, *body = (line.split("\t") for line in rows.splitlines())
    lines = [header, ["---"] * len(header), *([name, f"{int(words):,}", *rest] for name, words, *rest in body)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def measure(texts: Sequence[str], file: TextIO) -> None:
    """A row for each text, length and share."""
    print(*COLUMNS, sep="\t", file=file, flush=True)
    for text in texts:
        for words in LENGTHS:
            with tempfile.TemporaryDirectory() as folder:
                write_start(text, words, Path(folder))
                for row in rows(Path(folder)):
                    print(text, *row, sep="\t", file=file, flush=True)


def rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """The rows of one text."""
    train = (folder / "train.txt").read_text(encoding="utf-8")
    words = sum(len(line.split()) + 1 for line in train.splitlines())  # <eos> is one
    for gamma in GAMMAS:
        settings = planned(folder, words, gamma)
        result = wordtie.train(settings, folder / f"{gamma:g}", ngram=5)
        assert result.mixture is not None
        yield (
            f"{words}",
            f"{result.epochs_trained:.1f}",
            f"{settings.model.hidden_dropout:g}",
            f"{gamma:g}",
            f"{result.valid_perplexity:.2f}",
            f"{result.mixture['valid_perplexity']:.2f}",
        )


def planned(folder: Path, words: int, gamma: float) -> Settings:
    """What is planned for these tokens, with this noise."""
    data = DataSettings(corpus=str(folder))
    noise = NoiseSettings(kind="kneser_ney", scheme="data_noising", gamma=gamma) if gamma else NoiseSettings()
    start = Settings(data=data, noise=noise, training=TRAINING)
    given = ("noise.kind", "training.tokens", "training.validations", "training.patience")
    return choose(start, given, Lengths(words, 1, 1, len(prepare(data).vocabulary)), 1.0, 0.1, NO_MATTER)


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
