"""Which of the papers' ideas help when minutes count: the recipe of `wordtie train`, with one change per row.

These are no paper's rows and have no published numbers. Every row of a group reads as many tokens, about what two cores
with AVX2 read in two minutes or in ten, with the size and dropout that `wordtie train --time` plans for that number.
The softmax is sampled, and full at the end; plans have a larger sample by now, and no full softmax at the end. A change
that makes a step slower costs seconds, not tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from wordtie.config.recommended import RECOMMENDED
from wordtie.reproduction.papers.row import Changes, Published, Row, table_of

REFERENCE = "recipe"
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Group:
    """Rows that change the recipe for one number of tokens."""

    name: str
    common: Changes
    """Settings of all rows."""
    texts: Mapping[str, Changes]
    """Settings of all rows on a text, by its name."""
    variants: Mapping[str, tuple[str, Changes]]
    """Label and changes of each variant, by name; the first is `REFERENCE`."""

    @property
    def tokens(self) -> int:
        """How many tokens every row reads."""
        tokens: int = self.common["training.tokens"]
        return tokens

    @cached_property
    def rows(self) -> dict[str, Row]:
        """Rows by name: `two-minutes/ptb/augmented`."""
        return table_of(
            *(
                Row(f"{self.name}/{text}/{name}", label, Published(), {**self.common, **of_text, **changes})
                for text, of_text in self.texts.items()
                for name, (label, changes) in self.variants.items()
            )
        )


TEXTS: dict[str, Changes] = {
    "ptb": {"data.corpus": "ptb"},
    "sotu": {"data.corpus": "sotu", "data.vocabulary_size": 10_000},
    "wikitext-2": {"data.corpus": "wikitext-2"},
}


def dropped(share: float) -> Changes:
    """Return the settings that drop this share of the word vectors and of the layer's outputs."""
    return {"model.input_dropout": share, "model.hidden_dropout": share}


_PLANNED: Changes = {
    **{name: value for name, value in RECOMMENDED.items() if name not in ("training.decay", *dropped(0.0))},
    "loss.samples": 512,
    "training.schedule": "cosine",
    "training.patience": 0,
    "training.validations": 4,
    "training.device": "cpu",
}
"""The sample of the softmax, and the full softmax at the end, are those that plans had when the rows began."""


def noise(kind: str, **more: object) -> Changes:
    """Return the settings of noise of this kind, on a fifth of the words if `gamma` is not given."""
    return {"noise.kind": kind, "noise.gamma": 0.2} | {f"noise.{name}": value for name, value in more.items()}


def vectors_as_long_as_the_state(units: int) -> dict[str, tuple[str, Changes]]:
    """Return the variants whose word vectors have as many numbers as the state."""
    alone = {"model.embedding": units, "model.output_bias": True}
    return {
        "untied": ("two word matrices", {"model.head": "untied", **alone}),
        "tied": ("one matrix without a linear map (RE, WT)", {"model.head": "tied", **alone}),
        f"tied-linear-{units}": ("linear map, vectors as long as the state", {"model.embedding": units}),
    }


TWO_MINUTES = Group(
    "two-minutes",
    {
        **_PLANNED,
        **dropped(0.0),
        "model.hidden": 256,
        "model.embedding": 128,
        "loss.full_at_end": 0.1,
        "training.tokens": 2_000_000,
    },
    TEXTS,
    {
        REFERENCE: ("what `wordtie train` does: one matrix, vectors of half the size, linear map", {}),
        **vectors_as_long_as_the_state(256),
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
        "vs-elementwise": ("variational smoothing: element-wise", noise("kneser_ney", elementwise=True)),
        "dropout-0.1": ("a tenth dropped", dropped(0.1)),
        "dropout-0.2": ("a fifth dropped", dropped(0.2)),
        "dropout-inan": ("a fifth dropped, one mask a window", {**dropped(0.2), "model.dropout": "inan"}),
        "dropout-gal": ("a fifth dropped, what recurs, too", {**dropped(0.2), "model.dropout": "gal"}),
        "word-dropout": ("a tenth of the words read as zero", {"model.word_dropout": 0.1}),
        "weight-drop": ("three tenths of the recurrent weights dropped", {"model.weight_drop": 0.3}),
        "two-layers": ("two layers", {"model.layers": 2}),
        "gru": ("gated recurrent units", {"model.core": "gru", "model.forget_bias": 0.0}),
        "reset-state": ("windows that begin with <eos> are read from zeros", {"training.reset_state": True}),
        "dense-updates": ("all rows of the word matrix updated in each step", {"training.sparse_updates": False}),
        "averaged": (
            "one rate, the mean of the weights once validation stops improving (NT-ASGD)",
            {
                "training.schedule": "epoch",
                "training.decay": 1.0,
                "training.validations": 8,
                "training.average_patience": 1,
            },
        ),
    },
)
TEN_MINUTES = Group(
    "ten-minutes",
    {
        **_PLANNED,
        "model.hidden": 400,
        "model.embedding": 200,
        "loss.full_at_end": 0.2,
        "training.word_rate": 3.0,
        "training.streams": 64,
        "training.tokens": 10_000_000,
    },
    {
        "ptb": {**TEXTS["ptb"], **dropped(0.3), **noise("kneser_ney", scheme="data_noising", gamma=0.1)},
        "sotu": {**TEXTS["sotu"], **dropped(0.2)},
        "wikitext-2": {**TEXTS["wikitext-2"], **dropped(0.2)},
    },
    {
        REFERENCE: TWO_MINUTES.variants[REFERENCE],
        **vectors_as_long_as_the_state(400),
        "augmented": TWO_MINUTES.variants["augmented"],
        "full-softmax": TWO_MINUTES.variants["full-softmax"],
    },
)
"""What lowered the perplexity after two million tokens by more than one percent on one text at least."""
GROUPS = (TWO_MINUTES, TEN_MINUTES)
