"""Press & Wolf (2017), "Using the output embedding to improve language models" (EACL).

WT: one matrix for input and output. PR: a square projection P before the output, with a penalty on its norm, lambda =
0.15, in the form that the authors released. The models are Zaremba et al.'s (2014), with an output bias whether tied
or not: this gives the printed sizes.
"""

from __future__ import annotations

from wordtie.reproduction.papers.row import Changes, Published, Row, cited, table_of

PAPER = "press-wolf-2017"
SMALL: Changes = {
    "loss.kind": "cross_entropy",
    "model.output_bias": True,
    "model.input_dropout": 0.0,
    "model.hidden_dropout": 0.0,
    "training.decay": 0.5,
    "training.decay_after": 5,
    "training.steps": 20,
    "training.epochs": 13,
    "training.patience": 0,
    "training.keep": "last",
}
"""Zaremba's small model: 2 x 200 units, no dropout. The authors' code has a `max_epoch` of 4, but counts epochs from 0:
the rate is halved at every epoch from the sixth on. It measures the last epoch."""
OTHER_READING = """\
the rate falls after 4 epochs, as Zaremba et al. write; their code and that of Press & Wolf let it fall one epoch \
later, and by that schedule it is decided whether `small` is reached"""
AS_RELEASED = "the rate falls one epoch later than Zaremba et al. write, as in the released code"
LARGE: Changes = {
    "data.corpus": "ptb",
    "loss.kind": "cross_entropy",
    "model.hidden": 1500,
    "model.init": 0.04,
    "model.output_bias": True,
    "training.decay": round(1 / 1.15, 6),
    "training.decay_after": 15,  # a `max_epoch` of 14, counted from 0
    "training.clip": 10.0,
    "training.epochs": 55,
    "training.patience": 0,
    "training.keep": "last",
}
ZAREMBA_DROPOUT: Changes = {"model.dropout": "zaremba", "model.input_dropout": 0.65, "model.hidden_dropout": 0.65}
GAL_DROPOUT: Changes = {
    "model.dropout": "gal",
    "model.word_dropout": 0.3,
    "model.input_dropout": 0.5,
    "model.recurrent_dropout": 0.3,
    "model.hidden_dropout": 0.5,
}
"""Bayesian dropout (BD): the shares of Gal's script."""
AS_SCRIPT = """\
the script has a mask for each gate, ours one for all four; its weight decay is not times the rate, ours is; it ends \
with a training perplexity without dropout, which may be the printed one, where ours is that of training"""
PENALTY: Changes = {
    "model.projection_penalty": 0.15,
    "model.projection_form": "squared_norm",
    "model.projection_bias": True,
}
"""Penalty as released. With the bias, little is learnt while the rate is 1, and much as soon as it falls."""
MODELS: dict[str, tuple[str, Changes]] = {
    "small": ("Small", {"model.head": "untied"}),
    "wt": ("Small + WT", {"model.head": "tied"}),
    "pr": ("Small + PR", {"model.head": "untied", "model.projection": True, **PENALTY}),
    "wt-pr": ("Small + WT + PR", {"model.head": "tied_linear", **PENALTY}),
}
TABLE_6: dict[str, tuple[float, float, float, float]] = {
    "small": (38.0, 120.7, 114.5, 4.65e6),
    "wt": (36.4, 117.5, 112.4, 2.65e6),
    "pr": (50.8, 116.0, 111.7, 4.69e6),
    "wt-pr": (53.5, 104.9, 100.9, 2.69e6),
}
"""Training, validation and test perplexity, parameters."""
MEASURES = {
    "small": ("similarity", "agreement", "repetition"),
    "wt": ("similarity", "agreement_with_small", "repetition"),
}
"""Measures for tables 3 and 4, and section 3."""
TABLE_7: dict[str, dict[str, tuple[float, float | None, float]]] = {
    "text8": {"small": (90.4, None, 195.3), "wt": (95.6, None, 187.1), "pr": (92.6, None, 199.0),
              "wt-pr": (95.3, None, 183.2)},
    "imdb": {"small": (71.3, 94.1, 94.3), "wt": (75.4, 94.6, 94.8), "pr": (72.0, 94.0, 94.4),
             "wt-pr": (72.9, 91.2, 91.5)},
    "bbc": {"small": (28.6, 103.6, 110.8), "wt": (30.1, 99.4, 106.8), "pr": (42.5, 104.9, 108.7),
            "wt-pr": (45.7, 96.4, 98.9)},
}  # fmt: skip
TEXT8: Changes = {"data.corpus": "text8", "data.sentences": False, "data.min_count": 11}
"""The paper names the split and the vocabulary of Mikolov et al. (2014). Their code,
github.com/facebookarchive/SCRNNs, keeps the words that occur more than 10 times in training."""
TEXT8_SPLIT = """\
text8's vocabulary and test text, the last million characters, are those of the code of Mikolov et al. (2014), whom \
the paper names; they have no validation text, so ours is the million before it, which training lacks, and their text \
is without `<eos>`, where ours has one at the end of each split"""
OWN_SPLIT = """\
the paper's split and vocabulary are not available: ours are the catalogue's split and the 10,000 words most frequent \
in training"""


def table_5() -> list[Row]:
    """Large models, with dropout."""
    bd = {**LARGE, **GAL_DROPOUT, "training.decay_after": 11}  # the script's `max_epoch` is 10
    rows: list[tuple[str, str, Published, Changes]] = [
        ("large", "Large", Published(82.2, 78.4, 37.8, 66e6),
         {**LARGE, **ZAREMBA_DROPOUT, "model.head": "untied"}),
        ("large-wt", "Large + WT", Published(77.7, 74.3, 48.5, 51e6),
         {**LARGE, **ZAREMBA_DROPOUT, "model.head": "tied"}),
        ("large-bd-wd", "Large + BD + WD", Published(78.1, 75.2, 24.3, 66e6),
         {**bd, "model.head": "untied", "training.weight_decay": 1e-7}),
        ("large-bd-wt", "Large + BD + WT", Published(75.8, 73.2, parameters=51e6), {**bd, "model.head": "tied"}),
    ]  # fmt: skip
    notes = {
        "large": AS_RELEASED,
        "large-wt": AS_RELEASED,
        "large-bd-wt": f"{AS_SCRIPT}; the printed numbers are as jzilly/RecurrentHighwayNetworks cites them: in our "
        "copy of the paper the row cannot be read",
    }
    highway = [
        Row(f"{PAPER}/table-5/{name}", label, printed, kind="drawn", drawn_from=(f"inan-2017/table-3/{same}",))
        for name, label, printed, same in (
            ("rhn-bd", "RHN + BD", Published(71.2, 68.5, 67.4, 32e6), "vd-rhn"),
            ("rhn-bd-wt", "RHN + BD + WT", Published(68.1, 66.0, 74.1, 24e6), "vd-rhn-re"),
        )
    ]
    ours = [
        Row(f"{PAPER}/table-5/{name}", label, printed, changes, needs="gpu",
            note=notes.get(name, AS_SCRIPT))
        for name, label, printed, changes in rows
    ]  # fmt: skip
    return ours + highway


def section_3() -> list[Row]:
    """Probability of repeating the current word: an untied model may learn that words are seldom repeated."""
    note = (
        "mean probability over the test text, in %; `elsewhere`: where another word came; `found`: how often it came "
        "again"
    )
    return [
        Row(f"{PAPER}/section-3/{model}", MODELS[model][0], Published(), kind="drawn",
            drawn_from=(f"{PAPER}/table-6/{model}",), shows=("measures", "repetition"), note=note)
        for model in ("small", "wt")
    ]  # fmt: skip


def table_6() -> dict[str, Row]:
    """Small models, without dropout, on PTB."""
    ours = [
        Row(
            f"{PAPER}/table-6/{model}",
            MODELS[model][0],
            Published(valid, test, train, parameters),
            {"data.corpus": "ptb", **SMALL, **MODELS[model][1]},
            note=AS_RELEASED,
            measures=MEASURES.get(model, ()),
        )
        for model, (train, valid, test, parameters) in TABLE_6.items()
    ]
    as_written: Changes = {"data.corpus": "ptb", **SMALL, **MODELS["small"][1], "training.decay_after": 4}
    zaremba = Row(f"{PAPER}/table-6/small-zaremba", "Small, as Zaremba et al. write", Published(), as_written,
                  note=OTHER_READING, measures=("similarity", "agreement"))  # fmt: skip
    kneser_ney = Row(f"{PAPER}/table-6/kn-5", "KN 5-gram", Published(test=141.0), kind="drawn",
                     drawn_from=("baselines/kneser-ney-5/ptb",))  # fmt: skip
    earlier = {
        "RNN (Mikolov et al.)": Published(test=123.0),
        "LSTM (Graves)": Published(test=117.0),
        "Stack RNN (Pascanu et al.)": Published(test=110.0, parameters=8.48e6),
        "FOFE-FNN (Zhang et al.)": Published(test=108.0),
        "Noisy LSTM (Gulcehre et al.)": Published(111.7, 108.0, parameters=4.65e6),
        "Deep RNN (Pascanu et al.)": Published(test=107.5, parameters=6.16e6),
    }
    return {**table_of(ours[0], zaremba, *ours[1:], kneser_ney), **cited(f"{PAPER}/table-6", earlier)}


def table_7() -> list[Row]:
    """The four small models on other texts."""
    return [
        Row(
            f"{PAPER}/table-7/{corpus}-{model}",
            f"{MODELS[model][0]}, {corpus}",
            Published(valid, test, train),
            {
                **(TEXT8 if corpus == "text8" else {"data.corpus": corpus, "data.vocabulary_size": 10_000}),
                **SMALL,
                **MODELS[model][1],
            },
            needs="cpu" if corpus == "bbc" else "gpu",
            note=f"{AS_RELEASED}; {TEXT8_SPLIT if corpus == 'text8' else OWN_SPLIT}",
            stands_in=corpus != "text8",
            measures=("similarity",) if corpus == "text8" and model in ("small", "wt") else (),
        )
        for corpus, models in TABLE_7.items()
        for model, (train, valid, test) in models.items()
    ]
