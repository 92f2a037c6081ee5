"""Press & Wolf (2017), section 4.3: translation, tables 1 and 8, as printed and scaled down on other text.

The paper's models have 1000 units and 500 numbers in a word vector, and are trained on WMT's millions of pairs. The
scaled-down rows are of Multi30k, 29,000 image descriptions, and of Tatoeba, with 256 units and a joint vocabulary of
8,000 subwords; the untied model, WT and TWWT differ in nothing else.
"""

from __future__ import annotations

from wordtie.reproduction.papers.press_wolf_2017 import PAPER
from wordtie.reproduction.papers.row import Changes, Published, Row

TABLE_1 = {"en-fr": (2e3, 7e3, 85e3), "en-de": (3e3, 11e3, 80e3)}
"""BPE subwords only in the source, only in the target, in both."""
TABLE_8 = {
    "en-fr": {"baseline": (168e6, 29.49, 33.13), "decoder-wt": (122e6, 29.47, 33.26), "twwt": (80e6, 29.43, 33.46)},
    "en-de": {"baseline": (165e6, 20.96, 16.79), "decoder-wt": (119e6, 21.09, 16.54), "twwt": (79e6, 21.02, 17.15)},
}
"""Parameters; BLEU on validation and test."""
NOT_RUN = "WMT's pairs and models of 165M parameters need weeks of GPU: scaled down on Multi30k and Tatoeba"
MODELS: dict[str, tuple[str, Changes]] = {
    "baseline": ("untied", {"model.tying": "none"}),
    "decoder-wt": ("decoder WT", {"model.tying": "decoder"}),
    "twwt": ("TWWT", {"model.tying": "three_way"}),
    "augmented": (
        "untied, augmented loss (inan-khosravi-2016, section 5)",
        {"model.tying": "none", "loss.kind": "augmented_2016", "loss.gamma": 0.3},
    ),
}
PAIRS = {"en-de": ("en", "de"), "de-en": ("de", "en")}
NOTE = "256 units, 256 numbers in a word vector, joint BPE of 8,000 subwords; beam 5"


def scaled_down() -> list[Row]:
    """Table 8 on Multi30k in both directions, and TWWT on Tatoeba."""
    rows = []
    for pair, (source, target) in PAIRS.items():
        languages = {"data.source": source, "data.target": target}
        for model, (label, changes) in MODELS.items():
            name = f"{PAPER}/table-8/multi30k-{pair}-{model}"
            rows.append(
                _trained(name, f"Multi30k {pair}, {label}", {"data.corpus": "multi30k", **languages, **changes})
            )
    changes = {
        "data.corpus": "tatoeba-deu-eng",
        "data.split": (0.98, 0.01, 0.01),
        "training.epochs": 8,
        **MODELS["twwt"][1],
    }
    rows.append(_trained(f"{PAPER}/table-8/tatoeba-en-de-twwt", "Tatoeba en-de, TWWT", changes))
    return rows


def _trained(name: str, label: str, changes: Changes) -> Row:
    shows = ("measures", "bleu")
    return Row(name, label, Published(), changes, kind="translation", shows=shows, note=NOTE)


def translation() -> list[Row]:
    """Tables 1 and 8, as printed, and our scaled-down rows."""
    rows = []
    for pair, subwords in TABLE_1.items():
        published = Published(values=dict(zip(("source only", "target only", "both"), subwords, strict=True)))
        rows.append(Row(f"{PAPER}/table-1/{pair}", f"BPE subwords, {pair}", published, kind="other", not_run=NOT_RUN))
    for text, label in (("multi30k", "Multi30k"), ("tatoeba", "Tatoeba")):
        source, shows = f"{PAPER}/table-8/{text}-en-de-twwt", ("measures", "subwords")
        name = f"{PAPER}/table-1/{text}-en-de"
        rows.append(
            Row(name, f"BPE subwords, {label} en-de", Published(), kind="drawn", drawn_from=(source,), shows=shows)
        )
    for pair, models in TABLE_8.items():
        for model, (parameters, valid, test) in models.items():
            published = Published(parameters=parameters, values={"valid BLEU": valid, "test BLEU": test})
            name = f"{PAPER}/table-8/{pair}-{model}"
            rows.append(Row(name, f"{pair}, {model}", published, kind="other", not_run=NOT_RUN))
    return [*rows, *scaled_down()]
