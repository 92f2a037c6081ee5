"""What the cells cost beside each other: a training step with each, against the LSTM's.

Reported without a goal. The models are small (200 units) and tied, with the dropout of Inan et al. (2017), the
cross-entropy alone and no augmented loss; GRU and plain RNN have two layers as the LSTM has, the recurrent highway
network one of depth 10 with coupled gates, as in Zilly et al. (2016). Only the LSTM has a fast twin: what is measured
is what a user waits for, not what the equations cost.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import cycle

from benchmarks.harness import Claim, Effort, MatrixProbe, Measurement, compare
from benchmarks.steps import Setup, fast_contender, windows_of
from wordtie.config import LossSettings, ModelSettings

LSTM = Setup(
    ModelSettings(hidden=200, input_dropout=0.3, hidden_dropout=0.3),
    LossSettings(kind="cross_entropy"),
)
CELLS = {
    "gru": ("a GRU", replace(LSTM.model, core="gru")),
    "rnn": ("a plain RNN", replace(LSTM.model, core="rnn")),
    "rhn": ("a recurrent highway network of depth 10", replace(LSTM.model, core="rhn", layers=1, depth=10)),
}


def measure(model: ModelSettings, effort: Effort) -> Measurement:
    """The LSTM's step over this cell's: below 1, the LSTM is the faster one."""
    setup = replace(LSTM, model=model)
    windows = windows_of(setup)
    return compare(
        alternative=fast_contender(LSTM, cycle(windows)),
        ours=fast_contender(setup, cycle(windows)),
        multiply_adds=None,  # the two parts of a step have different dtypes
        probe=MatrixProbe(setup.precision),
        rounds=effort.rounds,
        note=f"softmax in {str(setup.precision).removeprefix('torch.')}; the cell step by step in torch, fp32",
    )


CLAIMS = tuple(
    Claim(f"cell-{name}", f"training step with {what}, 200 units, against the LSTM's", None, partial(measure, model))
    for name, (what, model) in CELLS.items()
)
