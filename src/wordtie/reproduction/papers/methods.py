"""What each idea gains at small scale: one change per row, 200 units, Penn Treebank, with the same budget for all.

They are from no paper and have no published numbers. All are trained for eight epochs, the rate halved at each from
the fifth on (the schedule of Zaremba's small model), so that every run settles within the budget. Dropout is 0.3
and the noise's gamma 0.2 unless the method asks for another value.
"""

from __future__ import annotations

from wordtie.reproduction.papers.row import Changes, Published, Row, table_of

GROUP = "methods/ptb-200"
REFERENCE = f"{GROUP}/tied"
COMMON: Changes = {
    "data.corpus": "ptb",
    "loss.kind": "cross_entropy",
    "training.epochs": 8,
    "training.patience": 0,
    "training.decay": 0.5,
    "training.decay_after": 4,
    "training.device": "cpu",
}
UNTIED: Changes = {"model.head": "untied"}
LINEAR: Changes = {"model.head": "tied_linear", "model.output_bias": True}
"""As in our rows of both papers. Without a bias, the map learns word frequencies, and the rate 1 is too high."""
AUGMENTED: Changes = {"loss.kind": "augmented"}
NO_DROPOUT: Changes = {"model.input_dropout": 0.0, "model.hidden_dropout": 0.0}
ZAREMBA: Changes = {"model.dropout": "zaremba"}
GAL: Changes = {"model.dropout": "gal"}


def replaced(kind: str) -> Changes:
    """Return the settings of data noising of this kind."""
    return {"noise.scheme": "data_noising", "noise.kind": kind}


TYING: dict[str, tuple[str, Changes]] = {
    "untied": ("two word matrices", UNTIED),
    "tied": ("one word matrix (RE, WT): what every other row changes", {}),
    "al": ("two matrices, augmented loss (AL)", {**UNTIED, **AUGMENTED}),
    "real": ("one matrix, augmented loss (REAL)", AUGMENTED),
    "augmented-2016": ("one matrix, augmented loss of 2016", {"loss.kind": "augmented_2016", "loss.gamma": 0.3}),
    "output-bias": ("one matrix, output bias", {"model.output_bias": True}),
    "tied-linear": ("one matrix, linear map (tied+L), output bias", LINEAR),
    "tied-linear-100": ("one matrix of half the size, linear map, output bias", {**LINEAR, "model.embedding": 100}),
    "tied-linear-penalty": (
        "one matrix, penalised map (WT + PR), output bias",
        {**LINEAR, "model.projection_penalty": 0.15},
    ),
}
DROPOUT: dict[str, tuple[str, Changes]] = {
    "no-dropout": ("nothing dropped", NO_DROPOUT),
    "zaremba": ("a new mask at every step, only towards the layer above", ZAREMBA),
    "gal": ("one mask per window, separate for the next step and the layer above", GAL),
    "word-dropout": ("also some words read as zero", {**GAL, "model.word_dropout": 0.1}),
    "candidate-dropout": ("Zaremba's, and on the cell's candidate", {**ZAREMBA, "model.candidate_dropout": 0.3}),
    "weight-drop": (
        "recurrent weights dropped in place of what recurs",
        {**GAL, "model.recurrent_dropout": 0.0, "model.weight_drop": 0.3},
    ),
}
CELLS: dict[str, tuple[str, Changes]] = {
    "gru": ("gated recurrent units, a smaller rate", {"model.core": "gru", "training.lr": 0.3}),
    "rnn": ("plain recurrent units, a smaller rate", {"model.core": "rnn", "training.lr": 0.1}),
    "rhn": (
        "recurrent highway network of depth 3, a smaller rate",
        {"model.core": "rhn", "model.layers": 1, "model.depth": 3, "training.lr": 0.2},
    ),
}
NOISE: dict[str, tuple[str, Changes]] = {
    "dn-blank": ("data noising: blank", replaced("blank")),
    "dn-li": ("data noising: linear interpolation", replaced("linear_interpolation")),
    "dn-ad": ("data noising: absolute discounting", replaced("absolute_discounting")),
    "dn-kn": ("data noising: Kneser-Ney", replaced("kneser_ney")),
    "vs-li": ("variational smoothing: linear interpolation", {"noise.kind": "linear_interpolation"}),
    "vs-li-inputs": (
        "the same, inputs only, predicting with the mean",
        {"noise.kind": "linear_interpolation", "noise.output_draw": "none", "noise.prediction": "mean"},
    ),
    "vs-li-inputs-mode": (
        "the same, predicting with the mode in place of the mean",
        {"noise.kind": "linear_interpolation", "noise.output_draw": "none", "noise.prediction": "mode"},
    ),
    "vs-kn": ("variational smoothing: Kneser-Ney", {"noise.kind": "kneser_ney"}),
    "vs-kn-pairs": (
        "the same, targets drawn with the words read before them",
        {"noise.kind": "kneser_ney", "noise.output_draw": "with_input"},
    ),
    "vs-kn-mode": (
        "the same, predicting with the mode in place of the mean",
        {"noise.kind": "kneser_ney", "noise.output_draw": "with_input", "noise.prediction": "mode"},
    ),
    "vs-elementwise": (
        "variational smoothing: Kneser-Ney, element-wise",
        {"noise.kind": "kneser_ney", "noise.elementwise": True},
    ),
    "vs-elementwise-pairs": (
        "the same, coordinates of targets drawn with those read before them",
        {"noise.kind": "kneser_ney", "noise.elementwise": True, "noise.output_draw": "with_input"},
    ),
}
OPTIMISER: dict[str, tuple[str, Changes]] = {
    "adam": ("Adam", {"training.optimiser": "adam", "training.lr": 3e-3}),
    "nt-asgd": (
        "nothing dropped, one rate, averaged weights (NT-ASGD)",
        {**NO_DROPOUT, "training.decay": 1.0, "training.average_patience": 1},
    ),
}
READABLE: dict[str, tuple[str, Changes]] = {
    "real-readable": (
        "REAL computed by the readable formulas, in fp32: what speed costs in quality",
        {**AUGMENTED, "training.fused": False, "training.precision": "fp32"},
    ),
}
"""The same model as `real`, so that the two check the fast implementations over a whole training."""

ROWS: dict[str, Row] = table_of(
    *(
        Row(f"{GROUP}/{name}", label, Published(), {**COMMON, **changes})
        for group in (TYING, READABLE, DROPOUT, CELLS, NOISE, OPTIMISER)
        for name, (label, changes) in group.items()
    )
)
