"""How many units pay in ten minutes for a text of one or two million words, and how many units and epochs in an hour.

    python -m benchmarks.sizes                      the rows that results/bench/sizes.tsv lacks
    python -m benchmarks.sizes ptb                  of these texts

See `benchmarks.compared` for how a row is measured. Noise is data noising with Kneser-Ney. With 512 units, a step takes
1.37 times as long as with 400: 9.4 and 12.6 million tokens take about as long, and so do 11.6 and 16.1 million, and
12.0 and 16.5 million. The rules that follow are `wordtie.training.recipe.SIZES`, `LARGEST` and `MOST_EPOCHS`;
`benchmarks.regularisation` compares dropout and noise.
"""

from __future__ import annotations

from benchmarks import names_given
from benchmarks.compared import DATA_NOISING, DROPPED, FORMER_LOSS, Comparison

COMPARISON = Comparison(
    {"hidden": ["model.hidden"], "dropout": DROPPED, "noise": ["noise.gamma"]},
    {
        "ptb": {
            9_400_000: [(512, 0.3, 0.1)],
            12_600_000: [(400, 0.3, 0.1)],
            11_600_000: [(512, 0.4, 0.1)],
            16_100_000: [(400, 0.4, 0.1)],
            37_000_000: [(512, 0.5, 0.1), (768, 0.5, 0.1)],
            74_000_000: [(512, 0.5, 0.1)],
        },
        "sotu": {12_000_000: [(512, 0.2, 0.0)], 16_500_000: [(400, 0.2, 0.0)]},
        "wikitext-2": {11_500_000: [(512, 0.3, 0.0), (512, 0.4, 0.0)]},
        "tatoeba-deu": {12_100_000: [(512, 0.3, 0.1), (512, 0.3, 0.0), (512, 0.4, 0.0)]},
    },
    "sizes.tsv",
    {**DATA_NOISING, **FORMER_LOSS},
)

if __name__ == "__main__":
    COMPARISON.run(names_given(__doc__))
