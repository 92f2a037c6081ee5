"""How much noise a short text needs, which is read many times over in the minutes given.

    python -m benchmarks.short_texts                 results/bench/short-texts.tsv, and the table on the page
    python -m benchmarks.short_texts ptb > my.tsv    of these texts, elsewhere

Each row trains on the first sentences of a text, so many words of them, with the size and the dropout that `wordtie
train --time` plans for two million tokens. Of the words read, data noising with Kneser-Ney replaces up to a share of
`gamma`. Perplexities are of the validation text, which is whole: of the network, and of its mixture with 5-grams and
recent words. The rule that follows from it is `wordtie.training.recipe.NOISES_IF_SHORT`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from benchmarks import names_given
from benchmarks.planned import planned, trained, training_on
from wordtie.config import DataSettings, NoiseSettings, Settings
from wordtie.data.catalogue import locate
from wordtie.data.prepare import prepare
from wordtie.reproduction.render import generated_blocks

TEXTS = ("ptb", "wikitext-2")
LENGTHS = (100_000, 300_000)
GAMMAS = (0.0, 0.1, 0.3)
TOKENS = 2_000_000
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
    data = DataSettings(corpus=str(folder))
    words = len(prepare(data).train)
    for gamma in GAMMAS:
        noise = NoiseSettings(kind="kneser_ney", scheme="data_noising", gamma=gamma) if gamma else NoiseSettings()
        settings = planned(Settings(data, noise=noise, training=training_on(TOKENS)), ["noise.kind"])
        epochs, *perplexities = trained(settings, folder / f"{gamma:g}")
        yield f"{words}", epochs, f"{settings.model.hidden_dropout:g}", f"{gamma:g}", *perplexities


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
