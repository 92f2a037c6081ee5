"""Gulordava, Aina & Boleda (2018), "How to represent a word and predict it, too" (EMNLP).

Tied+L: a linear layer L between hidden state and word matrix, so that the two may differ in size. The setting is that
of PyTorch's word-level example: SGD at 20 on the mean over a window's tokens, divided by 4 where validation stops
improving, gradient norm at most 0.25, 35 steps, 20 streams, 40 epochs (less where five in a row bring nothing, by when
the rate is a thousandth), dropout on the embedding, between the layers and on the output. Rates here refer to the loss
summed over the steps, so 20 is 20 / 35 and 0.25 is 0.25 * 35. The rest of the layers starts uniform in
(-1 / sqrt(hidden), 1 / sqrt(hidden)), PyTorch's default. The paper searches dropout and learning rate, with details in
an appendix that the proceedings' text lacks: 20 is the example's rate.
"""

from __future__ import annotations

from wordtie.reproduction.papers.row import Changes, Published, Row, cited, table_of

PAPER = "gulordava-2018"
STEPS = 35
COMMON: Changes = {
    "data.corpus": "ptb",
    "loss.kind": "cross_entropy",
    "model.output_bias": True,
    "model.dropout": "zaremba",
    "training.lr": round(20 / STEPS, 4),
    "training.clip": 0.25 * STEPS,
    "training.schedule": "plateau",
    "training.decay": 0.25,
    "training.steps": STEPS,
    "training.streams": 20,
    "training.epochs": 40,
    "training.patience": 5,
}
OPEN = "left open: the rate and the dropout that the search chose; taken: the rate of PyTorch's example, dropout {}"
HEADS = {"non-tied": "untied", "tied": "tied", "tied-l": "tied_linear"}
DROPPED = {200: 0.3, 400: 0.4, 600: 0.5}
"""Dropout by hidden size: the first two chosen on the validation text, with tied+L; the third is our assumption."""

TABLE_1: dict[tuple[int, int], dict[str, tuple[float, float, float]]] = {
    (200, 200): {"non-tied": (95.0, 91.1, 4.7e6), "tied": (90.8, 86.6, 2.7e6), "tied-l": (89.8, 85.8, 2.7e6)},
    (400, 200): {"non-tied": (89.4, 85.3, 8.3e6), "tied-l": (83.4, 80.3, 4.3e6)},
    (400, 400): {"non-tied": (87.2, 83.5, 10.6e6), "tied": (82.0, 78.2, 6.6e6), "tied-l": (81.9, 78.0, 6.7e6)},
    (600, 400): {"non-tied": (85.8, 82.4, 15.3e6), "tied-l": (79.0, 76.0, 9.5e6)},
    (600, 600): {"non-tied": (84.3, 81.3, 17.8e6), "tied": (79.7, 76.1, 11.8e6), "tied-l": (78.7, 75.5, 12.1e6)},
}
"""Validation and test perplexity, parameters."""
TABLE_2: dict[tuple[int, int], dict[str, tuple[float, float, float]]] = {
    (600, 300): {"non-tied": (40.0, 39.2, 50e6), "tied-l": (39.3, 38.5, 20e6)},
    (600, 600): {"non-tied": (40.8, 40.0, 66e6), "tied": (40.5, 39.7, 36e6), "tied-l": (38.6, 37.9, 36e6)},
}
TABLE_2_RHO = {
    (600, 300): {"non-tied": (0.34, 0.52, 0.60), "tied-l": (0.42, 0.61, 0.68)},
    (600, 600): {"non-tied": (0.34, 0.52, 0.60), "tied": (0.39, 0.55, 0.64), "tied-l": (0.42, 0.59, 0.70)},
}
"""Spearman's rho by benchmark: the better of input and output vectors where they differ."""
TABLE_3 = {
    "cbow-non-tied": (0.38, 0.51, 0.63),
    "cbow-tied-l": (0.38, 0.50, 0.65),
    "skipgram-non-tied": (0.39, 0.52, 0.74),
    "skipgram-tied": (0.18, 0.25, 0.50),
    "skipgram-tied-l": (0.35, 0.51, 0.72),
}
BENCHMARKS = ("SimLex", "RW", "MEN")


def settings(hidden: int, embedding: int, model: str) -> Changes:
    """The configuration of a model of Table 1."""
    return {
        **COMMON,
        "model.hidden": hidden,
        "model.embedding": embedding,
        "model.core_init": round(hidden**-0.5, 4),
        "model.head": HEADS[model],
        "model.input_dropout": DROPPED[hidden],
        "model.hidden_dropout": DROPPED[hidden],
    }


def table_1() -> list[Row]:
    """Language models on PTB, hidden and embedding size from 200 to 600."""
    return [
        Row(
            f"{PAPER}/table-1/{hidden}-{embedding}-{model}",
            f"{hidden}/{embedding} {model}",
            Published(valid, test, parameters=parameters),
            settings(hidden, embedding, model),
            needs="cpu" if (hidden, embedding) in ((200, 200), (400, 200)) else "gpu",
            note=OPEN.format(DROPPED[hidden]),
        )
        for (hidden, embedding), models in TABLE_1.items()
        for model, (valid, test, parameters) in models.items()
    ]


def tables_2_and_3() -> list[Row]:
    """Language models, and word2vec, on 100M words of Wikipedia."""
    not_public = "the 100M words of Wikipedia that were drawn are not public"
    rows = []
    for (hidden, embedding), models in TABLE_2.items():
        for model, (valid, test, parameters) in models.items():
            rho = dict(zip(BENCHMARKS, TABLE_2_RHO[hidden, embedding][model], strict=True))
            published = Published(valid, test, parameters=parameters, values=rho)
            name = f"{hidden}-{embedding}-{model}"
            note = "published: the better of input and output vectors on each benchmark" if model == "non-tied" else ""
            rows.append(Row(f"{PAPER}/table-2/{name}", name, published, kind="other", not_run=not_public, note=note))
    for name, numbers in TABLE_3.items():
        published = Published(values=dict(zip(BENCHMARKS, numbers, strict=True)))
        rows.append(Row(f"{PAPER}/table-3/{name}", name, published, kind="other", not_run=not_public))
    return rows


SCALED: dict[tuple[int, int], tuple[int, int]] = {(200, 200): (600, 600), (400, 200): (600, 300)}
"""Hidden and embedding size of our rows, and of the rows of Table 2 shown beside them."""
SCALED_DROPOUT = {200: 0.2, 400: 0.3}
NON_TIED_RHO = {"input": (0.33, 0.52, 0.55), "output": (0.34, 0.50, 0.60)}
"""Spearman's rho of the non-tied models' vectors, the same for both of the paper's sizes."""
AS_MEASURED = ("SimLex-999", "Rare-Word", "MEN")
"""Names of the same benchmarks in our measurements."""
OF_TABLE_2 = """\
scaled down: WikiText-2's 2M words in place of 100M of Wikipedia, {} units in place of 600, dropout {}, 20 epochs, \
which are as many steps as 45 on PTB; published are the numbers of the row {} of table 2, and nothing is compared with \
them"""


def scaled_down() -> list[Row]:
    """Table 2 at a size that is practical on a CPU: perplexity, and word similarity of both matrices."""
    return [
        row
        for (hidden, embedding), beside in SCALED.items()
        for model in TABLE_2[beside]
        for row in scaled_down_rows(hidden, embedding, model)
    ]


def scaled_down_rows(hidden: int, embedding: int, model: str) -> list[Row]:
    """The row that trains a model, with its tied or its input vectors, and one with its output vectors."""
    beside, dropped = SCALED[hidden, embedding], SCALED_DROPOUT[hidden]
    changes: Changes = {
        **settings(hidden, embedding, model),
        "data.corpus": "wikitext-2",
        "model.input_dropout": dropped,
        "model.hidden_dropout": dropped,
        "training.epochs": 20,
    }
    valid, test, parameters = TABLE_2[beside][model]
    of_side = NON_TIED_RHO if model == "non-tied" else {"tied": TABLE_2_RHO[beside][model]}
    trained = f"{PAPER}/scaled-down/wikitext-2-{hidden}-{embedding}-{model}"
    rows = []
    for side, rhos in of_side.items():
        values = dict(zip(AS_MEASURED, rhos, strict=True))
        label = f"{hidden}/{embedding} {model}" + (f", {side} vectors" if model == "non-tied" else "")
        shows = ("measures", "similarity", side)
        if side == "output":
            rows.append(Row(f"{trained}-output", label, Published(values=values), kind="drawn", drawn_from=(trained,),
                            shows=shows, stands_in=True))  # fmt: skip
        else:
            note = OF_TABLE_2.format(hidden, dropped, f"{'-'.join(map(str, beside))}-{model}")
            published = Published(valid, test, parameters=parameters, values=values)
            rows.append(Row(trained, label, published, changes, measures=("similarity",), shows=shows,
                            with_perplexities=True, stands_in=True, note=note))  # fmt: skip
    return rows


ROWS: dict[str, Row] = {
    **table_of(*table_1()),
    **cited(
        f"{PAPER}/table-1",
        {
            "VD tied 650 (Inan et al.)": Published(77.1, 73.9),
            "1500 (Zaremba et al.)": Published(82.2, 78.4, parameters=66e6),
            "tied 1500 (Press & Wolf)": Published(77.7, 74.3, parameters=51e6),
        },
    ),
    **table_of(*tables_2_and_3(), *scaled_down()),
}
