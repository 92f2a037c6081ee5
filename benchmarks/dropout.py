"""How much dropout a text needs that is read so many times.

    python -m benchmarks.dropout                    the rows that results/bench/dropout.tsv lacks
    python -m benchmarks.dropout ptb sotu           of these texts

Each row trains on so many tokens with the size, the streams and the noise that `wordtie train --time` plans for them.
Perplexities are of the validation text: of the network, and of its mixture with 5-grams and recent words. The rule that
follows from it is `wordtie.training.recipe.DROPOUTS`. Rows count tokens, not seconds, so that two processes may
run side by side, one for each text.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import names_given
from benchmarks.planned import NO_MATTER, planned, trained, training_on
from wordtie.config import DataSettings, ModelSettings, Settings

POINTS: dict[str, dict[int, tuple[float, ...]]] = {
    "ptb": {11_000_000: (0.3, 0.4), 3_700_000: (0.0, 0.1, 0.2), 2_800_000: (0.0, 0.1, 0.2), 2_000_000: (0.0, 0.1)},
    "sotu": {10_800_000: (0.2, 0.3), 6_200_000: (0.0, 0.1, 0.2), 3_900_000: (0.0, 0.1)},
    "wikitext-2": {11_400_000: (0.2, 0.3, 0.4), 6_300_000: (0.1, 0.2, 0.3), 4_200_000: (0.0, 0.1, 0.2)},
}
"""By text: after how many tokens, which shares are compared."""
VOCABULARY = {"sotu": 10_000}
TIMINGS = replace(NO_MATTER, full_window=2 * NO_MATTER.window)
"""With the full softmax at the end."""
RESULTS = Path(__file__).parent.parent / "results" / "bench" / "dropout.tsv"
COLUMNS = ("text", "tokens", "epochs", "hidden", "dropout", "network", "mixture")


def main(texts: Sequence[str]) -> None:
    """Measure the rows of these texts, of all if there are none, that the file lacks; each is added when it is done."""
    done = measured()
    for text in texts or POINTS:
        for tokens, shares in POINTS[text].items():
            for dropout in shares:
                if (text, f"{tokens}", f"{dropout:g}") not in done:
                    row = measure(text, tokens, dropout)
                    with RESULTS.open("a", encoding="utf-8") as file:
                        print(*row, sep="\t", file=file)


def measured() -> set[tuple[str, str, str]]:
    """Text, tokens and dropout of each row that is there; the file begins with the names of the columns."""
    if not RESULTS.exists():
        RESULTS.write_text("\t".join(COLUMNS) + "\n", encoding="utf-8")
    with RESULTS.open(encoding="utf-8", newline="") as file:
        return {(row["text"], row["tokens"], row["dropout"]) for row in csv.DictReader(file, delimiter="\t")}


def measure(text: str, tokens: int, dropout: float) -> tuple[str, ...]:
    """A row of the table."""
    start = Settings(
        DataSettings(corpus=text, vocabulary_size=VOCABULARY.get(text)),
        ModelSettings(input_dropout=dropout, hidden_dropout=dropout),
        training=training_on(tokens, threads=1),
    )
    settings = planned(start, ("model.input_dropout", "model.hidden_dropout"), TIMINGS)
    with tempfile.TemporaryDirectory() as folder:
        epochs, *perplexities = trained(settings, Path(folder) / "run")
    return text, f"{tokens}", epochs, f"{settings.model.hidden}", f"{dropout:g}", *perplexities


if __name__ == "__main__":
    main(names_given(__doc__))
