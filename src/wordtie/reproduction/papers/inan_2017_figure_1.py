"""Figure 1 of Inan, Khosravi & Socher (2017): does the augmented loss bring input and output vectors together?

Section 6.2: a 2 x 300 LSTM with two matrices memorises 20,000 contiguous words of PTB, without regularisation, with
rows of the input matrix kept at norm 1 and no output bias (section 4), on equation 6.1,

    J = beta * J_aug * tau^2 * V + (1 - beta) * J_ce;

then the distance of the spaces of both matrices is measured (appendix B; `wordtie.vectors.subspace`). Panel (a)
has beta from 0 to 1 at tau 10, panel (b) tau at beta 1.

The paper leaves open: the optimiser, the epochs, the initial scale, and whether gradient flows through the similar
words. It must not here: in first trials (60 units, 800 words) this made all input vectors the same (mean cosine 0.95
after 30 epochs), so that the loss was 0 and the spaces were as far apart as unrelated ones, 0.96.

To first order, the W that fits J_aug best spans the space of L whatever h is. What remains outside lies in directions
along which the model has not learned yet (results/search/inan-2017-figure-1-directions.tsv). W starts small here, and
the layers start large, which brought the spaces closer in trials (results/search/inan-2017-figure-1.tsv).
"""

from __future__ import annotations

from wordtie.reproduction.papers.row import Changes, Published, Row, table_of

GROUP = "inan-2017/figure-1"
SETTINGS: Changes = {
    "data.corpus": "ptb-20000",
    "loss.kind": "interpolated",
    "loss.gradient_through_target": False,
    "model.head": "untied",
    "model.hidden": 300,
    "model.init": 0.01,
    "model.core_init": 0.3,
    "model.output_bias": False,
    "model.unit_rows": True,
    "model.input_dropout": 0.0,
    "model.hidden_dropout": 0.0,
    "training.optimiser": "adam",
    "training.lr": 0.002,
    "training.decay": 0.9,
    "training.decay_after": 70,
    "training.clip": 0.0,
    "training.patience": 0,
    "training.epochs": 100,
    "training.streams": 5,
    "training.steps": 20,
    "training.precision": "fp32",
}
BETAS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
TAUS = (1, 2, 5, 10, 20)
NOTE = """\
the paper has 10 runs of each, a distance of nearly 1 at beta 0 and about 0.06 at beta 1 (tau 10); epochs, optimiser, \
rate and initial scale are not given; 20 steps, 5 streams and no clipping, where table 1 has 35, 20 and 5; settings: \
results/search/inan-2017-figure-1.tsv"""
AT_BETA_1 = Published(values={"distance": 0.06}, better="neither")
"""The figure has no numbers; the text says "almost 1" at beta 0, as for unrelated spaces, and "around 0.06" here."""
DISTANCE = ("measures", "subspace")


def row(name: str, label: str, beta: float, temperature: float) -> Row:
    """One point of the figure."""
    changes = {**SETTINGS, "loss.beta": beta, "loss.temperature": temperature}
    label = f"subspace distance, {label}"
    published = AT_BETA_1 if (beta, temperature) == (1.0, 10.0) else Published()
    return Row(f"{GROUP}/{name}", label, published, changes, measures=("subspace",), shows=DISTANCE, note=NOTE)


def both() -> Row:
    """The point that both panels have."""
    label, same = "subspace distance, beta 1, tau 10", (f"{GROUP}/a-beta-1.0",)
    return Row(f"{GROUP}/b-tau-10", label, AT_BETA_1, kind="drawn", drawn_from=same, shows=DISTANCE, note=NOTE)


ROWS: dict[str, Row] = table_of(
    *(row(f"a-beta-{beta}", f"beta {beta}, tau 10", beta, 10.0) for beta in BETAS),
    *(both() if tau == 10 else row(f"b-tau-{tau}", f"beta 1, tau {tau}", 1.0, float(tau)) for tau in TAUS),
)
