"""Inan, Khosravi & Socher (2017), "Tying word vectors and word classifiers" (ICLR; arXiv 1611.01462).

VD-LSTM, alone and with AL (augmented loss), RE (reused embedding) and REAL (both), in three sizes. The settings are
those of section 6.1 and appendix A, and of the authors' code, github.com/inanhkn/REAL: layer 1's input vectors are
masked like all else, the "dropout probabilities" are shares kept, the rate first falls in the second epoch after the
printed one, training lasts until six validations in a row bring nothing new, 100 epochs at most, and the similar
words learn from their own entropy alone. Left open: the initial scale but for large (Zaremba's) and gamma within the
printed range. The code takes the output bias into the augmented loss, too; equation 3.1 does not, and ours follows
it.

The small base and RE on PTB were trained before that code was found, with settings of their own.
"""

from __future__ import annotations

from wordtie.reproduction.papers.inan_2017_figure_1 import ROWS as FIGURE_1
from wordtie.reproduction.papers.row import Changes, Published, Row, cited, table_of

PAPER = "inan-2017"
MODELS: dict[str, tuple[str, Changes]] = {
    "base": ("VD-LSTM", {"model.head": "untied", "loss.kind": "cross_entropy"}),
    "al": ("VD-LSTM+AL", {"model.head": "untied", "loss.kind": "augmented"}),
    "re": ("VD-LSTM+RE", {"model.head": "tied", "loss.kind": "cross_entropy"}),
    "real": ("VD-LSTM+REAL", {"model.head": "tied", "loss.kind": "augmented"}),
}
SIZES: dict[str, Changes] = {
    "small": {"training.decay_after": 6},
    "medium": {"model.hidden": 650, "model.init": 0.05, "training.decay_after": 11},
    "large": {
        "model.hidden": 1500,
        "model.init": 0.04,
        "training.clip": 6.0,
        "training.decay": 0.97,
        "training.decay_after": 2,
    },
}
"""The code counts epochs from 0 and has not decayed yet in the one that the paper names: 5, 10 and 1."""
RELEASED: Changes = {"training.epochs": 100, "training.patience": 6}
RELEASED_LOSS: Changes = {"loss.gradient_through_target": "entropy"}
BEFORE: Changes = {"training.decay_after": 5, "training.patience": 5}
TRAINED_BEFORE: dict[str, Changes] = {
    "base": {**BEFORE, "training.epochs": 32},
    "re": {**BEFORE, "training.epochs": 20, "model.input_dropout": 0.0},
}
"""Small models on PTB: the number of epochs was open then, and whether input vectors are masked. RE's first stage
ends when the rate is a fifth of the first: the start of the second stage would undo what little it could still gain."""
KEPT = {
    ("ptb", "small"): 0.7,
    ("ptb", "medium"): 0.5,
    ("ptb", "large"): 0.35,
    ("wikitext-2", "small"): 0.8,
    ("wikitext-2", "medium"): 0.6,
}
"""Appendix A: the share of a vector that dropout keeps."""
GAMMA = {"ptb": 0.65, "wikitext-2": 1.25}
"""The middle of the printed ranges, 0.5 to 0.8 and 1.0 to 1.5."""
RHN: Changes = {
    "data.corpus": "ptb",
    "loss.kind": "cross_entropy",
    "model.core": "rhn",
    "model.layers": 1,
    "model.init": 0.04,
    "model.output_bias": True,
    "model.dropout": "gal",
    "model.word_dropout": 0.25,
    "model.input_dropout": 0.75,
    "model.recurrent_dropout": 0.25,
    "model.hidden_dropout": 0.75,
    "training.lr": 0.2,
    "training.decay": round(1 / 1.02, 6),
    "training.decay_after": 20,
    "training.clip": 10.0,
    "training.weight_decay": 1e-7,
    "training.epochs": 500,
    "training.patience": 0,
}
"""Zilly et al. (2016): a recurrent highway network with Gal's dropout. The README of their code,
github.com/jzilly/RecurrentHighwayNetworks, gives the depth and the units of each row."""

SMALL_RHN: Changes = {
    "model.hidden": 200,
    "model.depth": 3,
    "model.init": 0.1,
    "model.word_dropout": 0.0,
    "model.input_dropout": 0.3,
    "model.recurrent_dropout": 0.1,
    "model.hidden_dropout": 0.3,
    "training.decay": 0.8,
    "training.decay_after": 6,
    "training.epochs": 20,
}
"""What differs at 200 units: the scale and the dropout of a small VD-LSTM, and a schedule that ends after 20 epochs
with the rate at a twentieth, an hour for each of the two models on two cores."""
VD_RHN, VD_RHN_RE = Published(71.2, 68.5, parameters=32e6), Published(68.1, 66.0, parameters=24e6)

LATER_STAGES: dict[str, tuple[Changes, ...]] = {
    "base": (),
    "al": ({"training.epochs": 45},),
    "re": ({"training.epochs": 40, "model.input_dropout": 0.3},),
    "real": ({"training.epochs": 45}, {"training.epochs": 60}),
}
"""Later stages of the small models on PTB (footnote 4, which says that a second stage did not change the baseline, and
names no third). RE's second stage masks layer 1's input: without it, the model overfits by then. Where the code has at
most 100 epochs, we end a stage once the rate is too low to gain much more."""

TABLE_1: dict[tuple[str, str], dict[str, tuple[float, float]]] = {
    ("ptb", "small"): {"base": (92.6, 87.3), "al": (86.3, 82.9), "re": (89.9, 85.1), "real": (86.3, 82.7)},
    ("ptb", "medium"): {"base": (82.0, 77.7), "al": (77.4, 74.7), "re": (77.1, 73.9), "real": (75.7, 73.2)},
    ("ptb", "large"): {"base": (76.8, 72.6), "al": (74.5, 71.2), "re": (72.5, 69.0), "real": (71.1, 68.5)},
    ("wikitext-2", "small"): {
        "base": (112.2, 105.9),
        "al": (110.3, 103.8),
        "re": (106.1, 100.5),
        "real": (105.6, 98.9),
    },
    ("wikitext-2", "medium"): {"base": (100.2, 95.3), "al": (98.8, 93.1), "re": (92.3, 87.7), "real": (91.5, 87.0)},
}
"""Validation and test perplexity."""
TABLE_2 = {
    1: {"base": (159.1, 148.0), "al": (153.0, 142.5), "re": (152.4, 141.9), "real": (149.3, 140.6)},
    2: {"base": (163.19, 148.6), "al": (156.4, 143.7), "re": (152.5, 140.9), "real": (150.5, 138.4)},
}


def settings(corpus: str, size: str, model: str) -> Changes:
    """The configuration of a model of Table 1."""
    dropped = round(1 - KEPT[corpus, size], 2)
    chosen: Changes = {
        "data.corpus": corpus,
        "model.input_dropout": dropped,
        "model.hidden_dropout": dropped,
        "loss.gamma": GAMMA[corpus],
    }
    small_on_ptb = TRAINED_BEFORE.get(model, {"training.epochs": 40}) if (corpus, size) == ("ptb", "small") else {}
    released = {**RELEASED, **(RELEASED_LOSS if model in ("al", "real") else {})}
    return {**chosen, **SIZES[size], **released, **MODELS[model][1], **small_on_ptb}


def note(corpus: str, size: str, model: str) -> str:
    """Return what readers should know about the settings."""
    if (corpus, size) != ("ptb", "small"):
        left_open = [f"gamma within the printed range ({GAMMA[corpus]} taken)"] if model in ("al", "real") else []
        left_open += ["the initial scale"] if size != "large" else []
        return f"left open: {', '.join(left_open)}" if left_open else ""
    stages = {
        "base": ["one stage, since the paper says that a second did not change the baseline"],
        "re": ["the first stage reads unmasked vectors, the second masked ones"],
        "real": ["three stages at most, where the paper names two"],
    }.get(model, [])
    return "; ".join([*stages, "settings: results/search/inan-2017-ptb-small.tsv"])


def measures(size: str) -> tuple[str, ...]:
    """Return the measures that compare base and REAL. The small ones were trained before `mass` was measured."""
    return ("predictions",) if size == "small" else ("predictions", "mass")


def section_6_4() -> list[Row]:
    """Probability that base and REAL waste on `<unk>` and on frequent words: the paper says that REAL wastes less."""
    note = (
        "mean probability in % where something else came, over the test text: `unk` of <unk>, `frequent` of the 50 "
        "most frequent words together; the paper says that REAL gives them less, and prints no number"
    )
    return [
        Row(f"{PAPER}/section-6.4/{size}-{model}", f"{MODELS[model][0]}, {size}", Published(), kind="drawn",
            drawn_from=(f"{PAPER}/table-1/ptb-{size}-{model}",), shows=("measures", "mass"), note=note)
        for size in ("medium", "large")
        for model in ("base", "real")
    ]  # fmt: skip


def table_1() -> list[Row]:
    """The four models, S, M and L, on PTB and WikiText-2."""
    return [
        Row(
            f"{PAPER}/table-1/{corpus}-{size}-{model}",
            f"{MODELS[model][0]}, {size}, {corpus}",
            Published(valid, test, parameters=51e6 if (size, model) == ("large", "real") else None),
            settings(corpus, size, model),
            needs="cpu" if (corpus, size) == ("ptb", "small") else "gpu",
            later_stages=LATER_STAGES[model] if (corpus, size) == ("ptb", "small") else (),
            note=note(corpus, size, model),
            measures=measures(size) if corpus == "ptb" and model in ("base", "real") else (),
        )
        for (corpus, size), numbers in TABLE_1.items()
        for model, (valid, test) in numbers.items()
    ]


def table_2() -> list[Row]:
    """The small models on either half of WikiText-2's training text."""
    return [
        Row(
            f"{PAPER}/table-2/part-{part}-{model}",
            f"{MODELS[model][0]}, small, WikiText-2 part {part}",
            Published(valid, test),
            {
                **settings("wikitext-2", "small", model),
                "data.corpus": f"wikitext-2-part-{part}",
                "data.vocabulary_from": "all",
            },
            note="the vocabulary is that of the half, the validation and the test text, as in the authors' code; "
            "with all 33,278 words of WikiText-2 perplexities would be a little higher",
            needs="gpu",
        )
        for part, numbers in TABLE_2.items()
        for model, (valid, test) in numbers.items()
    ]


def table_3() -> dict[str, Row]:
    """The comparison with earlier work on PTB."""
    large = f"{PAPER}/table-1/ptb-large-real"
    return {
        **cited(
            f"{PAPER}/table-3",
            {
                "RNN (Mikolov & Zweig)": Published(test=124.7, parameters=6e6),
                "RNN+LDA (Mikolov & Zweig)": Published(test=113.7, parameters=7e6),
                "RNN+LDA+KN-5+Cache (Mikolov & Zweig)": Published(test=92.0, parameters=9e6),
                "Deep RNN (Pascanu et al.)": Published(test=107.5, parameters=6e6),
                "Sum-Prod Net (Cheng et al.)": Published(test=100.0, parameters=5e6),
                "LSTM medium (Zaremba et al.)": Published(86.2, 82.7, parameters=20e6),
                "CharCNN (Kim et al.)": Published(test=78.9, parameters=19e6),
                "LSTM large (Zaremba et al.)": Published(82.2, 78.4, parameters=66e6),
                "VD-LSTM large, untied, MC (Gal)": Published(test=73.4, parameters=66e6),
                "Pointer Sentinel-LSTM medium (Merity et al.)": Published(72.4, 70.9, parameters=21e6),
                "38 large LSTMs (Zaremba et al.)": Published(71.9, 68.7, parameters=2.51e9),
                "10 large VD-LSTMs (Gal)": Published(test=68.7, parameters=660e6),
            },
        ),
        **table_of(
            Row(f"{PAPER}/table-3/vd-lstm-real-large", "VD-LSTM+REAL, large", Published(71.1, 68.5, parameters=51e6),
                kind="drawn", drawn_from=(large,)),
            rhn("vd-rhn", "VD-RHN", "untied", 8, 890, VD_RHN),
            rhn("vd-rhn-re", "VD-RHN+RE", "tied", 9, 860, VD_RHN_RE),
        ),
    }  # fmt: skip


def rhn(name: str, label: str, head: str, depth: int, units: int, published: Published) -> Row:
    """A recurrent highway network; the settings are those that its authors released."""
    changes = {**RHN, "model.head": head, "model.depth": depth, "model.hidden": units}
    return Row(f"{PAPER}/table-3/{name}", label, published, changes, needs="gpu", note="settings: Zilly et al. (2016)")


def scaled_down() -> list[Row]:
    """Recurrent highway networks with and without RE, at a size that is practical on a CPU."""
    changes: Changes = {**RHN, **SMALL_RHN}
    note = (
        "scaled down to 200 units, depth 3 and 20 epochs, with as much dropout as the small VD-LSTM and no dropped "
        "words: published are the numbers of 890 and 860 units, depth 8 and 9, and nothing is compared with them"
    )
    return [
        Row(f"{PAPER}/scaled-down/{name}", f"{label}, 200 units, depth 3", printed, {**changes, "model.head": head},
            stands_in=True, note=note)
        for name, label, head, printed in (
            ("rhn", "VD-RHN", "untied", VD_RHN),
            ("rhn-re", "VD-RHN+RE", "tied", VD_RHN_RE),
        )
    ]  # fmt: skip


def figures() -> list[Row]:
    """Tables and figures that are drawn from the models above, and the experiment of Figure 1."""

    def from_table_1(name: str, label: str, size: str, models: tuple[str, ...]) -> Row:
        rows = tuple(f"{PAPER}/table-1/ptb-{size}-{model}" for model in models)
        return Row(f"{PAPER}/{name}", label, Published(), kind="drawn", drawn_from=rows)

    return [
        from_table_1("table-4/base", "ten likeliest next words, VD-LSTM, large", "large", ("base",)),
        from_table_1("table-4/real", "ten likeliest next words, VD-LSTM+REAL, large", "large", ("real",)),
        from_table_1("figure-2/small", "validation perplexity by epoch, small", "small", tuple(MODELS)),
        from_table_1("figure-2/large", "validation perplexity by epoch, large", "large", tuple(MODELS)),
    ]


ROWS: dict[str, Row] = {
    **table_of(*table_1(), *table_2()),
    **table_3(),
    **table_of(*scaled_down(), *figures(), *section_6_4()),
    **FIGURE_1,
}
