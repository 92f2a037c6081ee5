"""Which of the papers' ideas help when minutes count: the recipe of `wordtie train`, with one change per row.

These are no paper's rows and have no published numbers. Every row reads two million tokens, about what two cores with
AVX2 read in two minutes, with the size and dropout that `wordtie train --time` plans for that number. The softmax is
sampled, and full in the last tenth. A change that makes a step slower costs seconds, not tokens.
"""

from __future__ import annotations

from wordtie.config.recommended import RECOMMENDED
from wordtie.reproduction.papers.row import Changes, Published, Row, table_of

GROUP = "two-minutes"
REFERENCE = "recipe"
TOKENS = 2_000_000
SEEDS = (1, 2, 3)
TEXTS: dict[str, Changes] = {
    "ptb": {"data.corpus": "ptb"},
    "sotu": {"data.corpus": "sotu", "data.vocabulary_size": 10_000},
    "wikitext-2": {"data.corpus": "wikitext-2"},
}
COMMON: Changes = {
    **{name: value for name, value in RECOMMENDED.items() if name != "training.decay"},
    "model.hidden": 256,
    "model.embedding": 128,
    "model.input_dropout": 0.0,
    "model.hidden_dropout": 0.0,
    "loss.full_at_end": 0.1,
    "training.schedule": "cosine",
    "training.patience": 0,
    "training.tokens": TOKENS,
    "training.validations": 4,
    "training.device": "cpu",
}
MORE_DROPOUT: Changes = {"model.input_dropout": 0.2, "model.hidden_dropout": 0.2}


def noise(kind: str, **more: object) -> Changes:
    """Return the settings of noise of this kind, on a fifth of the words."""
    return {"noise.kind": kind, "noise.gamma": 0.2} | {f"noise.{name}": value for name, value in more.items()}


VARIANTS: dict[str, tuple[str, Changes]] = {
    REFERENCE: ("what `wordtie train` does: one matrix, vectors of half the size, linear map", {}),
    "untied": ("two word matrices", {"model.head": "untied", "model.embedding": 256, "model.output_bias": True}),
    "tied": (
        "one matrix without a linear map (RE, WT)",
        {"model.head": "tied", "model.embedding": 256, "model.output_bias": True},
    ),
    "tied-linear-256": ("linear map, vectors as long as the state", {"model.embedding": 256}),
    "tied-linear-64": ("linear map, vectors of a quarter of the size", {"model.embedding": 64}),
    "penalty": ("the linear map penalised (PR)", {"model.projection_penalty": 0.15}),
    "augmented": ("augmented loss over the sample (REAL)", {"loss.kind": "augmented"}),
    "sampled-softmax": ("softmax over a sample until the end", {"loss.full_at_end": 0.0}),
    "full-softmax": ("softmax over all words", {"loss.softmax": "full", "loss.full_at_end": 0.0}),
    "dn-blank": ("data noising: blank", noise("blank", scheme="data_noising")),
    "dn-li": ("data noising: linear interpolation", noise("linear_interpolation", scheme="data_noising")),
    "dn-kn": ("data noising: Kneser-Ney", noise("kneser_ney", scheme="data_noising")),
    "vs-li": ("variational smoothing: linear interpolation", noise("linear_interpolation")),
    "vs-kn": ("variational smoothing: Kneser-Ney", noise("kneser_ney")),
    "dropout-0.1": ("a tenth dropped", {"model.input_dropout": 0.1, "model.hidden_dropout": 0.1}),
    "dropout-0.2": ("a fifth dropped", MORE_DROPOUT),
    "dropout-inan": ("a fifth dropped, one mask a window", {**MORE_DROPOUT, "model.dropout": "inan"}),
    "dropout-gal": ("a fifth dropped, what recurs, too", {**MORE_DROPOUT, "model.dropout": "gal"}),
    "word-dropout": ("a tenth of the words read as zero", {"model.word_dropout": 0.1}),
    "weight-drop": ("three tenths of the recurrent weights dropped", {"model.weight_drop": 0.3}),
    "two-layers": ("two layers", {"model.layers": 2}),
    "gru": ("gated recurrent units", {"model.core": "gru", "model.forget_bias": 0.0}),
    "reset-state": ("windows that begin with <eos> are read from zeros", {"training.reset_state": True}),
    "averaged": (
        "one rate, the mean of the weights once validation stops improving (NT-ASGD)",
        {
            "training.schedule": "epoch",
            "training.decay": 1.0,
            "training.validations": 8,
            "training.average_patience": 1,
        },
    ),
}
"""Label and changes of each variant, by name."""
ROWS: dict[str, Row] = table_of(
    *(
        Row(f"{GROUP}/{text}/{name}", label, Published(), {**COMMON, **of_text, **changes})
        for text, of_text in TEXTS.items()
        for name, (label, changes) in VARIANTS.items()
    )
)
