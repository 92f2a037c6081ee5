"""How much dropout a text needs that is read so many times.

    python -m benchmarks.dropout                    the rows that results/bench/dropout.tsv lacks
    python -m benchmarks.dropout ptb sotu           of these texts

See `benchmarks.compared` for how a row is measured. In all, the word matrix has ten times the rate of the other
parameters, as in short trainings. The rule that follows from it is
`wordtie.training.recipe.DROPOUTS`.
"""

from __future__ import annotations

from benchmarks import names_given
from benchmarks.compared import DROPPED, FORMER_LOSS, Comparison, each

COMPARISON = Comparison(
    {"dropout": DROPPED},
    {
        "ptb": {
            11_000_000: each(0.3, 0.4),
            3_700_000: each(0.0, 0.1, 0.2),
            2_800_000: each(0.0, 0.1, 0.2),
            2_000_000: each(0.0, 0.1),
        },
        "sotu": {10_800_000: each(0.2, 0.3), 6_200_000: each(0.0, 0.1, 0.2), 3_900_000: each(0.0, 0.1)},
        "wikitext-2": {
            11_400_000: each(0.2, 0.3, 0.4),
            6_300_000: each(0.1, 0.2, 0.3),
            4_200_000: each(0.0, 0.1, 0.2),
        },
    },
    "dropout.tsv",
    {"training.word_rate": 10.0, **FORMER_LOSS},
)

if __name__ == "__main__":
    COMPARISON.run(names_given(__doc__))
