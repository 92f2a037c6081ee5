"""Inan & Khosravi (2016), "Improved learning through augmenting the loss" (Stanford CS224D report).

A two-layer LSTM with Zaremba's non-recurrent dropout; tying without an output bias; CE + alpha * KL, or CE in place of
KL, without a temperature (`loss.gamma` is its alpha). The "dropout" column is read as the share kept (the
text says "keep probability"). Left open: the number of epochs (early stopping), the initial scale, clipping, and
whether gradient flows through the similar words. The code that it names, github.com/inanhkn/informed-rnnlm, was not
available.
"""

from __future__ import annotations

from wordtie.reproduction.papers.row import Changes, Published, Row, cited, table_of

PAPER = "inan-khosravi-2016"
OPEN = "left open: the epochs (until five bring nothing new, at most {}), the initial scale ({}), clipping (5)"
KL = "without gradient through the similar words, so that KL and CE are one; before, KL was trained with it"
NO_GRADIENT = ", whether gradient flows through the similar words (none; KL and CE are then one)"
SMALL: Changes = {
    "data.corpus": "ptb",
    "training.optimiser": "adam",
    "training.lr": 1e-3,
    "training.decay": 1.0,
    "training.streams": 50,
    "training.steps": 20,
    "training.epochs": 40,
    "model.init": 0.3,
    "model.core_init": 0.1,
}
"""Adam at its published defaults. The initial scale was found on the validation text, with both changes."""
LARGE: Changes = {
    "data.corpus": "ptb",
    "training.lr": 1.0,
    "training.decay": 0.83,
    "training.decay_after": 8,
    "training.epochs": 60,
    "model.init": 0.05,
}
"""SGD, the rate decayed from the ninth epoch on."""
AL: Changes = {"loss.kind": "augmented_2016", "loss.gamma": 0.3, "loss.gradient_through_target": False}
"""No gradient flows through the similar words, as chosen on the validation text. KL is then CE minus a constant, as
the report finds, and one run covers both."""
BOTH: Changes = {"model.head": "tied", **AL, "loss.form": "cross_entropy"}


def dropout(kept: float) -> Changes:
    """Zaremba's dropout: on non-recurrent connections only, with a new mask at every step."""
    dropped = round(1 - kept, 2)
    return {
        "model.dropout": "zaremba",
        "model.input_dropout": dropped,
        "model.hidden_dropout": dropped,
    }


def row(name: str, label: str, test: float, *parts: Changes, needs_gpu: bool = False) -> Row:
    """Return a line of a table; later parts override earlier ones."""
    changes = {key: value for part in parts for key, value in part.items()}
    note = OPEN.format(changes["training.epochs"], changes["model.init"])
    note += NO_GRADIENT if changes["loss.kind"] == "augmented_2016" else ""
    return Row(f"{PAPER}/{name}", label, Published(test=test), changes, needs="gpu" if needs_gpu else "cpu", note=note)


def table_1() -> list[Row]:
    """Either change alone (tying, augmented loss), and both."""
    plain: Changes = {"model.head": "untied", "loss.kind": "cross_entropy"}
    tied: Changes = {"model.head": "tied", "loss.kind": "cross_entropy"}
    augmented: Changes = {"model.head": "untied", **AL}
    return [
        row("table-1/base", "200 units", 104.5, SMALL, dropout(0.5), plain),
        row("table-1/tying", "200 units, tied", 97.6, SMALL, dropout(0.7), tied),
        row("table-1/al", "200 units, augmented loss", 98.2, SMALL, dropout(0.7), augmented),
        row("table-1/both", "200 units, both", 90.0, SMALL, dropout(0.7), BOTH),
    ]


def table_2() -> list[Row]:
    """Both changes, in four sizes; KL, or CE in its place."""

    def same_run(name: str, label: str, test: float, run: str, note: str = "") -> Row:
        drawn_from = (f"{PAPER}/{run}",)
        return Row(f"{PAPER}/{name}", label, Published(test=test), kind="drawn", drawn_from=drawn_from, note=note)

    units_300: Changes = {"model.hidden": 300}
    rows = [
        same_run("table-2/200-kl", "200 units, both (KL)", 90.0, "table-1/both", KL),
        same_run("table-2/200-ce", "200 units, both (CE)", 89.6, "table-1/both"),
        same_run("table-2/300-kl", "300 units, both (KL)", 84.9, "table-2/300-ce", KL),
        row("table-2/300-ce", "300 units, both (CE)", 84.7, SMALL, dropout(0.6), BOTH, units_300),
    ]
    for units, alpha, test in ((650, 0.35, 78.0), (750, 0.15, 76.7)):
        size: Changes = {"model.hidden": units, "loss.gamma": alpha}
        label = f"{units} units, both (CE)"
        rows.append(row(f"table-2/{units}-ce", label, test, LARGE, dropout(0.5), BOTH, size, needs_gpu=True))
    return rows


ROWS: dict[str, Row] = {
    **table_of(*table_1(), *table_2()),
    **cited(
        f"{PAPER}/table-2",
        {
            "200 units (Zaremba et al.)": Published(test=114.5),
            "650 units (Zaremba et al.)": Published(test=82.7),
            "1500 units (Zaremba et al.)": Published(test=78.4),
        },
    ),
}
