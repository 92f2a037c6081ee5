"""Values of a setting or two, compared after so many tokens of some texts: a table to which rows are added.

Each row trains with what `wordtie train --time` plans for so many tokens, or with what it takes without a time, until
validation no longer improves (tokens: `-`). Perplexities are of the validation text: of the network, and of its mixture
with 5-grams and recent words. Rows count tokens, not seconds, so that two processes may run side by side, one for each
text. The last two columns are the version that trained the row and the processor; `-` where earlier versions of this
program kept none.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.environment import machine
from benchmarks.planned import planned, trained, training_on, until_no_better
from benchmarks.quality.texts import TEXTS
from wordtie.config import Settings
from wordtie.config.keywords import settings_from
from wordtie.runs.provenance import code_version

BEFORE = ("text", "tokens", "epochs")
"""Columns that each table begins with."""
DROPPED = ("model.input_dropout", "model.hidden_dropout")
"""Settings that have the dropout of the plan."""
DATA_NOISING = {"noise.kind": "kneser_ney", "noise.scheme": "data_noising"}
"""Noise as the plan chooses it, without its gamma."""
FORMER_LOSS = {"loss.softmax": "sampled", "loss.samples": 512, "loss.full_at_end": 0.15}
"""The softmax that plans had when the rows of a table were measured: a smaller sample, and all words at the end."""
RESULTS = Path(__file__).parent.parent / "results" / "bench"


Values: TypeAlias = tuple[float, ...]
Measured: TypeAlias = Callable[[], tuple[str, ...]]
"""What measures a row."""


@dataclass(frozen=True)
class Comparison:
    """What is compared."""

    names: Mapping[str, Sequence[str]]
    """By column of the table: full names of the settings that have its value."""
    points: Mapping[str, Mapping[int | None, Sequence[Values]]]
    """By text: after how many tokens, which values, one a column; None: until validation no longer improves."""
    file: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Other settings, by full name, that the plan would choose, for the rows of a number of tokens."""

    def run(self, texts: Sequence[str]) -> None:
        """Measure the rows of these texts, of all if there are none, that the file lacks; each is added when done."""
        done = self.measured()
        for text in texts or self.points:
            for tokens, values in self.points[text].items():
                for value in values:
                    if (text, f"{tokens or '-'}", *map(shown, value)) not in done:
                        row = self.measure(text, tokens, value)
                        with (RESULTS / self.file).open("a", encoding="utf-8") as file:
                            print(*row, sep="\t", file=file)

    def measured(self) -> set[tuple[str, ...]]:
        """Text, tokens and values of each row that is there; the file begins with the names of the columns."""
        path = RESULTS / self.file
        if not path.exists():
            columns = (*BEFORE, *self._hidden("hidden"), *self.names, "network", "mixture", "version", "processor")
            path.write_text("\t".join(columns) + "\n", encoding="utf-8")
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, delimiter="\t")
            return {(row["text"], row["tokens"], *(row[column] for column in self.names)) for row in rows}

    def measure(self, text: str, tokens: int | None, values: Values) -> tuple[str, ...]:
        """A row of the table."""
        data = TEXTS[text]()
        compared = {name: value for names, value in zip(self.names.values(), values, strict=True) for name in names}
        given = {**self.fixed, **compared}
        if tokens is None:
            settings = until_no_better(data, {"training.threads": 1, **compared})
        else:
            start = Settings(data, training=training_on(tokens, threads=1))
            settings = planned(settings_from(start, **given), given)
        with tempfile.TemporaryDirectory() as folder:
            epochs, *perplexities = trained(settings, Path(folder) / "run")
        trained_by = code_version(), machine()["processor"]
        hidden = self._hidden(f"{settings.model.hidden}")
        return text, f"{tokens or '-'}", epochs, *hidden, *map(shown, values), *perplexities, *trained_by

    def _hidden(self, shown: str) -> tuple[str, ...]:
        """Return the entry of a column of its own, unless the units are compared."""
        return () if "hidden" in self.names else (shown,)


def add_rows(file: Path, columns: Sequence[str], rows: Mapping[tuple[str, ...], Measured]) -> None:
    """Measure the rows that the file lacks, given by their first columns; each is added when done."""
    if not file.exists():
        file.write_text("\t".join(columns) + "\n", encoding="utf-8")
    done = {tuple(line.split("\t")) for line in file.read_text(encoding="utf-8").splitlines()}
    for key, measure in rows.items():
        if key not in {row[: len(key)] for row in done}:
            row = measure()
            with file.open("a", encoding="utf-8") as there:
                print(*row, sep="\t", file=there)


def each(*values: float) -> list[Values]:
    """Return each value as the only one of its row."""
    return [(value,) for value in values]


def shown(value: float) -> str:
    """Return the value as the table shows it."""
    return f"{value:g}"
