"""How high the learning rate may be where there is time for few tokens.

    python -m benchmarks.learning_rate              the rows that results/bench/learning-rate.tsv lacks
    python -m benchmarks.learning_rate ptb sotu     of these texts

See `benchmarks.compared` for how a row is measured. The rule that follows is `wordtie.training.recipe.RATES`. On
WikiText-2, the rows from 300,000 tokens and a rate of 0.012 on are missing; on the State of the Union, those of two
million tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import names_given
from benchmarks.compared import Comparison, Values, each

OF_TOKENS: dict[int | None, Sequence[Values]] = {
    130_000: each(0.003, 0.006, 0.012),
    300_000: each(0.003, 0.006, 0.012),
    600_000: each(0.003, 0.006),
    1_000_000: each(0.003, 0.0045, 0.006),
    2_000_000: each(0.003, 0.0045),
}
COMPARISON = Comparison(
    {"rate": ["training.lr"]}, dict.fromkeys(("ptb", "sotu", "wikitext-2"), OF_TOKENS), "learning-rate.tsv"
)

if __name__ == "__main__":
    COMPARISON.run(names_given(__doc__))
