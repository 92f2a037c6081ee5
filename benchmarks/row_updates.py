"""How the rows of the word matrix that a window uses are updated: `RowAdam`, and what else Adam could do with them.

    python -m benchmarks.row_updates                the rows that results/bench/row-updates.tsv lacks
    python -m benchmarks.row_updates ptb            of this text

`rows` is what `wordtie train` does: the mean square of a row's gradients changes only when the row is used. With
`decayed`, that of every row decays in each step, as in dense Adam; this is also what a dense update now and then would
change, since there is no mean gradient. With `one square a row`, the numbers of a row share the mean of their squares.
`dense` is Adam for the whole matrix in each window, with its mean gradient. Each is trained on two million tokens, as
`wordtie train --time` plans them, with two rates of the word matrix, given as multiples of the rate of all other
parameters. Perplexities are of the validation text: of the network, and of its mixture with 5-grams and recent words.
Seconds are of one core, of the whole command.
"""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from torch import Tensor

from benchmarks import names_given
from benchmarks.compared import RESULTS
from benchmarks.environment import machine
from benchmarks.planned import planned, trained, training_on
from benchmarks.quality.texts import TEXTS
from wordtie.config import Settings
from wordtie.config.keywords import settings_from
from wordtie.runs.provenance import code_version
from wordtie.training.row_adam import RowAdam

TOKENS = 2_000_000
RATES = (10.0, 3.0)
FILE = RESULTS / "row-updates.tsv"
COLUMNS = ("text", "updates", "word rate", "network", "mixture", "seconds", "version", "processor")

Squares = Callable[[Tensor, Tensor, Tensor, float], Tensor]
"""From (mean squares of the matrix, rows, their gradients, beta2) to the new mean squares of the rows, (R, E)."""


def decayed(square_VE: Tensor, rows: Tensor, gradient_RE: Tensor, beta2: float) -> Tensor:
    """Let the squares of all rows decay."""
    square_VE.mul_(beta2)
    return square_VE.index_select(0, rows).addcmul_(gradient_RE, gradient_RE, value=1 - beta2)


def one_square_a_row(square_VE: Tensor, rows: Tensor, gradient_RE: Tensor, beta2: float) -> Tensor:
    """Add the mean of the squares of each row to all of its numbers."""
    mean_R1 = gradient_RE.square().mean(1, keepdim=True)
    return square_VE.index_select(0, rows).mul_(beta2).add_(mean_R1, alpha=1 - beta2)


UPDATES: dict[str, Squares | None] = {
    "rows": None,
    "decayed": decayed,
    "one square a row": one_square_a_row,
    "dense": None,
}


def main(texts: Sequence[str], file: Path = FILE, tokens: int = TOKENS) -> None:
    """Measure the rows of these texts, of all if there are none, that the file lacks; each is added when done."""
    if not file.exists():
        file.write_text("\t".join(COLUMNS) + "\n", encoding="utf-8")
    with file.open(encoding="utf-8", newline="") as there:
        done = {tuple(row[column] for column in COLUMNS[:3]) for row in csv.DictReader(there, delimiter="\t")}
    for text in texts or ("ptb", "sotu"):
        for updates in UPDATES:
            for rate in RATES:
                if (text, updates, f"{rate:g}") not in done:
                    row = measure(text, updates, rate, tokens)
                    with file.open("a", encoding="utf-8") as there:
                        print(*row, sep="\t", file=there)


def measure(text: str, updates: str, rate: float, tokens: int) -> tuple[str, ...]:
    """A row of the table."""
    given: dict[str, Any] = {"training.word_rate": rate, "training.sparse_updates": updates != "dense"}
    start = Settings(TEXTS[text](), training=training_on(tokens, threads=1))
    settings = planned(settings_from(start, **given), given)
    begun = time.process_time()
    with tempfile.TemporaryDirectory() as folder, replaced(UPDATES[updates]):
        _, *perplexities = trained(settings, Path(folder) / "run")
    seconds = f"{time.process_time() - begun:.0f}"
    return text, updates, f"{rate:g}", *perplexities, seconds, code_version(), machine()["processor"]


@contextmanager
def replaced(squares: Squares | None) -> Iterator[None]:
    """While it is entered, `RowAdam` has these squares; None: its own."""
    if squares is None:
        yield
        return
    with mock.patch.object(RowAdam, "_update_rows", lambda adam, *given: update_rows(adam, squares, *given)):
        yield


def update_rows(adam: RowAdam, squares: Squares, parameter: Tensor, group: dict[str, Any]) -> None:
    """`RowAdam._update_rows` with other squares."""
    state = adam.state[parameter]
    if not state:
        state["step"] = parameter.new_zeros(())
        state["exp_avg_sq"] = parameter.new_zeros(parameter.shape)
    assert parameter.grad is not None
    gradient = parameter.grad.coalesce()
    rows, values = gradient.indices()[0], gradient.values()
    state["step"] += 1
    beta2 = group["betas"][1]
    square_RE = squares(state["exp_avg_sq"], rows, values, beta2)
    state["exp_avg_sq"].index_copy_(0, rows, square_RE)
    correction = 1 - beta2 ** float(state["step"])
    update_RE = values / square_RE.div_(correction).sqrt_().add_(group["eps"])
    parameter.index_add_(0, rows, update_RE, alpha=-float(group["lr"]))


if __name__ == "__main__":
    main(names_given(__doc__))
