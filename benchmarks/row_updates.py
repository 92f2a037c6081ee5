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

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

from torch import Tensor

from benchmarks import names_given
from benchmarks.compared import RESULTS, Measured, add_rows
from benchmarks.planned import trained_as_planned
from benchmarks.quality.texts import TEXTS
from wordtie.training import row_adam

TOKENS = 2_000_000
RATES = (10.0, 3.0)
FILE = RESULTS / "row-updates.tsv"
COLUMNS = ("text", "updates", "word rate", "network", "mixture", "seconds", "version", "processor")

Squares = Callable[[Tensor, Tensor, Tensor, float], Tensor]
"""As `wordtie.training.row_adam.mean_squares`."""


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
    wanted = product(texts or ("ptb", "sotu"), UPDATES, RATES)
    rows: dict[tuple[str, ...], Measured] = {
        (text, updates, f"{rate:g}"): partial(measure, text, updates, rate, tokens) for text, updates, rate in wanted
    }
    add_rows(file, COLUMNS, rows)


def measure(text: str, updates: str, rate: float, tokens: int) -> tuple[str, ...]:
    """A row of the table."""
    given: dict[str, Any] = {"training.word_rate": rate}
    if updates == "dense":
        given["training.sparse_updates"] = False
    return text, updates, f"{rate:g}", *trained_as_planned(TEXTS[text](), given, tokens, replaced(UPDATES[updates]))


@contextmanager
def replaced(squares: Squares | None) -> Iterator[None]:
    """While it is entered, `RowAdam` has these squares; None: its own."""
    with mock.patch.object(row_adam, "mean_squares", squares or row_adam.mean_squares):
        yield


if __name__ == "__main__":
    main(names_given(__doc__))
