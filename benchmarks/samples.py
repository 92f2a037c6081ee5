"""How many words the sampled softmax needs: a larger sample costs time in each step, and makes each step better.

    python -m benchmarks.samples                    the rows that results/bench/samples.tsv lacks
    python -m benchmarks.samples wikitext-2         of these texts

See `benchmarks.compared` for how a row is measured; here, products are in float32. `full at end` is the last share of
the training, in which the softmax is over all words. So many tokens are about what is read in two minutes with the
smallest sample. `word rate` is the rate of the word matrix as a multiple of all others': with a larger sample, its rows
are updated more often. The rules that follow are `wordtie.training.recipe.samples_for` and `WORD_RATES`.
"""

from __future__ import annotations

from benchmarks import names_given
from benchmarks.compared import Comparison

COMPARISON = Comparison(
    {
        "hidden": ["model.hidden"],
        "samples": ["loss.samples"],
        "full at end": ["loss.full_at_end"],
        "word rate": ["training.word_rate"],
    },
    {
        "wikitext-2": {
            3_600_000: [
                (320, 512, 0.04, 10.0),
                (320, 512, 0.15, 10.0),
                (320, 2048, 0.04, 10.0),
                (320, 4096, 0.04, 10.0),
                (320, 4096, 0.0, 10.0),
                (320, 4096, 0.0, 5.0),
                (320, 4096, 0.0, 3.0),
                (320, 8192, 0.0, 5.0),
            ],
        },
        "ptb": {
            2_000_000: [(256, 2000, 0.0, 10.0), (256, 2000, 0.0, 5.0)],
            3_900_000: [(320, 2000, 0.0, 10.0), (320, 2000, 0.0, 5.0), (320, 2000, 0.0, 3.0)],
            4_800_000: [(320, 512, 0.18, 5.0), (320, 1024, 0.18, 5.0), (320, 2048, 0.18, 5.0), (320, 2048, 0.0, 5.0)],
        },
        "sotu": {
            2_000_000: [(256, 2000, 0.0, 10.0), (256, 2000, 0.0, 5.0)],
            6_000_000: [
                (320, 512, 0.18, 5.0),
                (320, 2048, 0.18, 5.0),
                (320, 2000, 0.0, 5.0),
                (320, 2000, 0.0, 3.0),
            ],
        },
    },
    "samples.tsv",
    {"loss.softmax": "sampled", "training.precision": "fp32"},
)

if __name__ == "__main__":
    COMPARISON.run(names_given(__doc__))
