"""Kong, Melis, Ling, Yu & Yogatama (2019), "Variational smoothing in recurrent neural network language models".

Data noising (DN: Xie et al. 2017) and variational smoothing (VS), by linear interpolation (LI) or Kneser-Ney (KN).
Two layers of 512 or 1024, one model untied and all others tied, batch 64, RMSprop, recurrent dropout 0.2 on the
candidate, element-wise dropout on input and output vectors. T is not given: 35. The paper tunes the rate in 2 to 4e-3,
lambda in 1e-4 and 1e-3, gamma in 0.1 to 0.4, and does not give what it found; here 3e-3, 1e-4 and 0.2 throughout. It
mentions no schedule; here the rate of the full sizes falls by a cosine. VS by LI leaves the output matrix alone
(section 4.1; footnote 6 says that one draw for both matrices would noise the output "even for linear interpolation").
It predicts with the mean, as the paper does: the shared matrix keeps its rows for scoring, and the first layer takes
the mean. Equations 4 and 5 and the account of the training disagree on whether VS by KN draws a target at its own gamma
or with the word before it; the latter is better on validation at a small size (methods/ptb-200: vs-kn and
vs-elementwise, each beside its -pairs).
"""

from __future__ import annotations

from wordtie.reproduction.papers.row import Changes, Published, Row, cited, table_of

PAPER = "kong-2019"
COMMON: Changes = {
    "loss.kind": "cross_entropy",
    "model.input_dropout": 0.0,
    "model.hidden_dropout": 0.0,
    "model.candidate_dropout": 0.2,
    "noise.l2": 1e-4,
    "training.optimiser": "rmsprop",
    "training.lr": 3e-3,
    "training.decay": 1.0,
    "training.streams": 64,
    "training.steps": 35,
    "training.epochs": 60,
}
FALLING: Changes = {"training.schedule": "cosine", "training.patience": 0}
"""Of the full sizes. With a constant rate, validation perplexity ends by jumping one or two points up and down."""
DN: Changes = {"model.head": "tied", "noise.scheme": "data_noising"}
VS: Changes = {"model.head": "tied", "noise.scheme": "variational_smoothing"}
LI: Changes = {"noise.kind": "linear_interpolation"}
INPUTS: Changes = {**VS, **LI, "noise.output_draw": "none"}
PAIRS: Changes = {"noise.kind": "kneser_ney", "noise.output_draw": "with_input"}
METHODS: dict[str, tuple[str, Changes]] = {
    "untied": ("LSTM, untied", {"model.head": "untied"}),
    "tied": ("LSTM, tied", {"model.head": "tied"}),
    "dn-li": ("DN: linear interpolation", {**DN, **LI}),
    "dn-kn": ("DN: Kneser-Ney", {**DN, "noise.kind": "kneser_ney"}),
    "vs-li": ("VS: linear interpolation", {**INPUTS, "noise.prediction": "mean"}),
    "vs-kn": ("VS: Kneser-Ney", {**VS, **PAIRS}),
    "vs-elementwise": ("VS: element-wise", {**VS, **PAIRS, "noise.elementwise": True}),
}
GAMMA: Changes = {"noise.gamma": 0.2}
Numbers = dict[str, tuple[float, float] | None]
TABLE_2: dict[tuple[int, str], Numbers] = {
    (512, "ptb"): {"untied": (89.6, 84.5), "tied": (80.0, 74.0), "dn-li": (79.4, 73.3), "dn-kn": (75.0, 70.7),
                   "vs-li": (76.3, 71.2), "vs-kn": (74.5, 70.6), "vs-elementwise": (70.5, 66.8)},
    (512, "wikitext-2"): {"untied": (106.3, 100.8), "tied": (90.6, 86.6), "dn-li": (88.9, 84.6), "dn-kn": (86.1, 82.1),
                          "vs-li": (84.0, 79.6), "vs-kn": (84.9, 80.9), "vs-elementwise": None},
    (1024, "ptb"): {"untied": (90.3, 85.5), "tied": (75.9, 70.2), "dn-li": (75.5, 70.2), "dn-kn": (71.4, 67.3),
                    "vs-li": (71.7, 67.8), "vs-kn": (70.8, 66.9), "vs-elementwise": (68.6, 64.5)},
    (1024, "wikitext-2"): {"untied": (97.6, 91.9), "tied": (85.2, 81.0), "dn-li": (84.3, 80.1), "dn-kn": (81.9, 78.3),
                           "vs-li": (80.5, 76.6), "vs-kn": (80.9, 76.7), "vs-elementwise": None},
}  # fmt: skip
"""Validation and test perplexity; None: the paper could not run it."""
PARAMETERS = {
    (512, "ptb"): (14e6, 9e6),
    (512, "wikitext-2"): (38e6, 21e6),
    (1024, "ptb"): (37e6, 27e6),
    (1024, "wikitext-2"): (85e6, 50e6),
}
"""Parameters of the untied and the tied models, as printed."""
SAMPLED = {("dn-kn", 512): 96.5, ("dn-kn", 1024): 85.1, ("vs-kn", 512): 89.8, ("vs-kn", 1024): 78.7}
"""Section 5.4: validation perplexity by method and units."""
SMOOTHED = ("vs-li", "vs-kn", "vs-elementwise")
"""Methods that predict with the mean."""
FIGURE_1_GAMMAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SCALED_GAMMAS = (0.05, 0.1, 0.2, 0.3, 0.4)


OPEN = """\
left open: {} that the search chose ({} taken), which loss lambda stands beside (a stream's, summed over T), T (35), \
clipping (5), the initial scale (0.1), the forget bias (0), an output bias (none), the decay of RMSprop (0.99), the \
epochs (60), the schedule (a cosine)"""
WITHOUT_NOISE = OPEN.format("the rate and lambda", "3e-3 and 1e-4")
WITH_NOISE = OPEN.format("the rate, lambda and gamma", "3e-3, 1e-4 and 0.2")
SEARCHED = (
    "schedule changed after its test number was seen; before, the rate was constant (results/search/kong-2019-512.tsv)"
)
TRAINED_BEFORE = ("tied", "dn-kn", "vs-kn", "vs-elementwise")
"""Methods of 512 units on PTB that `SEARCHED` is true of."""
MODE = "predicts with the mode, where the paper takes the mean"
APART = "to be compared with `ptb-200-vs-kn-own`, which draws each word at its own gamma_i, too"
OF_OWN = ("shared", "all")
"""Variants in which a target's row may be drawn even where the word that was read was not replaced."""


def settings(corpus: str, units: int, method: str) -> Changes:
    """The configuration of a model of Table 2."""
    dropped = 0.7 if units == 1024 else 0.5
    dropout: Changes = {"noise.input_vector_dropout": dropped, "noise.output_vector_dropout": dropped}
    noise = GAMMA if method[:2] in ("dn", "vs") else {}
    return {**COMMON, "data.corpus": corpus, "model.hidden": units, **dropout, **METHODS[method][1], **noise}


def table_2() -> list[Row]:
    """Seven methods, two sizes, two corpora."""
    rows = []
    for (units, corpus), numbers in TABLE_2.items():
        untied, tied = PARAMETERS[units, corpus]
        for method, pair in numbers.items():
            size = untied if method == "untied" else tied
            published = Published(*pair, parameters=size) if pair else Published(parameters=size)
            notes = [] if pair else ["the paper could not run it"]
            if (units, corpus) == (512, "ptb") and method in TRAINED_BEFORE:
                notes.append(SEARCHED)
            label = f"{METHODS[method][0]}, {units}, {corpus}"
            name = f"{PAPER}/table-2/{corpus}-{units}-{method}"
            changes = {**settings(corpus, units, method), **FALLING}
            measures: tuple[str, ...] = ("sampling",) if corpus == "ptb" and (method, units) in SAMPLED else ()
            measures += ("mode",) if corpus == "ptb" and method in SMOOTHED else ()
            rows.append(
                Row(
                    name,
                    label,
                    published,
                    changes,
                    needs="gpu",
                    note="; ".join([*notes, WITH_NOISE if "noise.gamma" in changes else WITHOUT_NOISE]),
                    measures=measures,
                )
            )
    return rows


def of_gamma(gamma: float, name: str, size: str, same: str, changes: Changes, note: str) -> Row:
    """Return one point of Figure 1. At the gamma that all rows have, it shows the row `same`, not trained twice."""
    label = f"VS: Kneser-Ney, {size}, PTB, gamma {gamma}"
    if gamma == GAMMA["noise.gamma"]:
        return Row(name, label, Published(), kind="drawn", drawn_from=(same,), note=note)
    return Row(name, label, Published(), {**changes, "noise.gamma": gamma},
               needs="cpu" if size == "200" else "gpu", note=note)  # fmt: skip


def figure_1() -> list[Row]:
    """Validation perplexity of VS: Kneser-Ney, 512 units, against gamma."""
    note = "the figure's numbers are not available; the text says: good from 0.1 to 0.3, worse and worse after"
    same, changes = f"{PAPER}/table-2/ptb-512-vs-kn", {**settings("ptb", 512, "vs-kn"), **FALLING}
    return [of_gamma(gamma, f"{PAPER}/figure-1/gamma-{gamma}", "512", same, changes, note) for gamma in FIGURE_1_GAMMAS]


def sampling() -> list[Row]:
    """Section 5.4: twenty samples at test time, in place of mode or mean, of the models of Table 2."""
    return [
        Row(
            f"{PAPER}/section-5.4/ptb-{units}-{method}",
            f"{METHODS[method][0]}, {units}, PTB, 20 samples at test time",
            Published(values={"valid perplexity": valid}, better="less"),
            kind="drawn",
            drawn_from=(f"{PAPER}/table-2/ptb-{units}-{method}",),
            shows=("measures", "sampling"),
        )
        for (method, units), valid in SAMPLED.items()
    ]


def by_mode() -> list[Row]:
    """The models of Table 2 that predict with the mean, predicting with the mode: not in the paper."""
    return [
        Row(
            f"{PAPER}/section-5.4/ptb-{units}-{method}-mode",
            f"{METHODS[method][0]}, {units}, PTB, predicting with the mode",
            Published(),
            kind="drawn",
            drawn_from=(f"{PAPER}/table-2/ptb-{units}-{method}",),
            shows=("measures", "mode"),
            note="not in the paper, which predicts with the mean",
        )
        for units in (512, 1024)
        for method in SMOOTHED
    ]


def scaled_down() -> list[Row]:
    """Every method at a size that is practical on a CPU. These are not the paper's rows."""
    dropout: Changes = {"noise.input_vector_dropout": 0.1, "noise.output_vector_dropout": 0.1}
    size: Changes = {"model.hidden": 200, "training.epochs": 12, "training.streams": 20, **dropout}
    note = (
        "scaled down to 200 units, 20 streams and 12 epochs, element-wise dropout 0.1: not the paper's row; "
        "settings: results/search/kong-2019-scaled-down.tsv"
    )
    rows = [
        Row(f"{PAPER}/scaled-down/ptb-200-{method}", f"{METHODS[method][0]}, 200, PTB", Published(),
            {**settings("ptb", 512, method), **size}, note=note)
        for method in METHODS
    ]  # fmt: skip
    mode = {**settings("ptb", 512, "vs-li"), **size, "noise.prediction": "mode"}
    rows.append(Row(f"{PAPER}/scaled-down/ptb-200-vs-li-mode", f"{METHODS['vs-li'][0]}, 200, PTB, mode", Published(),
                    mode, note=f"{note}; {MODE}"))  # fmt: skip
    others: dict[str, tuple[str, Changes]] = {
        "own": ("inputs and outputs drawn apart", {"noise.output_draw": "own"}),
        "shared": ("one draw for inputs and outputs", {"noise.output_draw": "shared"}),
        "tokens": ("a draw for each time step", {"noise.drawn_for": "token"}),
        "all": ("words that are not targets drawn too", {"noise.output_draw": "all"}),
    }
    rows += [
        Row(f"{PAPER}/scaled-down/ptb-200-vs-kn-{name}", f"{METHODS['vs-kn'][0]}, 200, PTB, {label}", Published(),
            {**settings("ptb", 512, "vs-kn"), **size, **changes}, note=f"{note}; {APART}" if name in OF_OWN else note)
        for name, (label, changes) in others.items()
    ]  # fmt: skip
    same, changes = f"{PAPER}/scaled-down/ptb-200-vs-kn", {**settings("ptb", 512, "vs-kn"), **size}
    rows += [
        of_gamma(gamma, f"{PAPER}/scaled-down/figure-1-gamma-{gamma}", "200", same, changes, note)
        for gamma in SCALED_GAMMAS
    ]
    return rows


ROWS: dict[str, Row] = {
    **table_of(*table_2()),
    **cited(
        f"{PAPER}/table-2",
        {
            "LSTM 512 (Xie et al.)": Published(84.3, 80.4),
            "LSTM 1500 (Xie et al.)": Published(81.6, 77.5),
            "DN: Kneser-Ney 512 (Xie et al.)": Published(79.9, 76.9),
            "DN: Kneser-Ney 1500 (Xie et al.)": Published(76.2, 73.4),
            "Var. dropout 1500 (Gal & Ghahramani)": Published(test=73.4),
        },
    ),
    **table_of(*figure_1(), *sampling(), *by_mode(), *scaled_down()),
}
