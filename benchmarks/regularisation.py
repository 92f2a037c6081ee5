"""How much dropout and noise a text of one or two million words needs when it is read many times.

    python -m benchmarks.regularisation             the rows that results/bench/regularisation.tsv lacks
    python -m benchmarks.regularisation ptb         of these texts

See `benchmarks.compared` for how a row is measured. Noise is data noising with Kneser-Ney; 0 is none. The rules that
follow are `wordtie.training.recipe.DROPOUTS` and `NOISES`; `benchmarks.dropout` and `benchmarks.short_texts` have
shorter trainings and shorter texts.
"""

from __future__ import annotations

from benchmarks import names_given
from benchmarks.compared import DATA_NOISING, DROPPED, FORMER_LOSS, Comparison

COMPARISON = Comparison(
    {"dropout": DROPPED, "noise": ["noise.gamma"]},
    {
        "ptb": {17_200_000: [(0.3, 0.1), (0.5, 0.1), (0.4, 0.1), (0.4, 0.0), (0.3, 0.0), (0.5, 0.3)]},
        "sotu": {16_500_000: [(0.3, 0.1), (0.3, 0.0), (0.2, 0.0)]},
        "wikitext-2": {14_500_000: [(0.3, 0.1), (0.3, 0.0), (0.2, 0.0), (0.4, 0.0)]},
    },
    "regularisation.tsv",
    {**DATA_NOISING, **FORMER_LOSS},
)

if __name__ == "__main__":
    COMPARISON.run(names_given(__doc__))
