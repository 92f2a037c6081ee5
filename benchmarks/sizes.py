"""How many units and epochs pay if there is an hour or more for a text of a million words.

    python -m benchmarks.sizes                      the rows that results/bench/sizes.tsv lacks
    python -m benchmarks.sizes ptb                  of these texts

See `benchmarks.compared` for how a row is measured. Noise is data noising with Kneser-Ney. The rules that follow are
`wordtie.training.recipe.SIZES`, `LARGEST` and `MOST_EPOCHS`; `benchmarks.regularisation` has half as many epochs.
"""

from __future__ import annotations

from benchmarks import names_given
from benchmarks.compared import DATA_NOISING, DROPPED, Comparison

COMPARISON = Comparison(
    {"hidden": ["model.hidden"], "dropout": DROPPED, "noise": ["noise.gamma"]},
    {"ptb": {37_000_000: [(512, 0.5, 0.1), (768, 0.5, 0.1)], 74_000_000: [(512, 0.5, 0.1)]}},
    "sizes.tsv",
    DATA_NOISING,
)

if __name__ == "__main__":
    COMPARISON.run(names_given(__doc__))
