"""How many times the rate of the other parameters the word matrix needs, for so many tokens or without a time.

    python -m benchmarks.word_rate                  the rows that results/bench/word-rate.tsv lacks
    python -m benchmarks.word_rate ptb sotu         of these texts

See `benchmarks.compared` for how a row is measured. The rows of a number of tokens have the softmax that plans had when
they were begun, with a smaller sample; `benchmarks.samples` compares the rates with the present one, on WikiText-2,
too. The rule that follows from both is `wordtie.training.recipe.WORD_RATES` and, without a time,
`wordtie.config.recommended`.
"""

from __future__ import annotations

from benchmarks import names_given
from benchmarks.compared import FORMER_LOSS, Comparison, each

COMPARISON = Comparison(
    {"word rate": ["training.word_rate"]},
    {
        "ptb": {2_000_000: each(3.0, 10.0), 11_000_000: each(3.0, 10.0), None: each(3.0, 10.0)},
        "sotu": {
            2_000_000: each(3.0, 10.0),
            6_000_000: each(5.0, 10.0),
            10_800_000: each(3.0, 10.0),
            None: each(3.0, 10.0),
        },
    },
    "word-rate.tsv",
    FORMER_LOSS,
)

if __name__ == "__main__":
    COMPARISON.run(names_given(__doc__))
