"""Baselines that count words: unigrams and Kneser-Ney n-grams, on the ids that a model is trained on."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wordtie.config import DataSettings
from wordtie.config.ngram import LONGEST
from wordtie.console import StageProgress, waiting
from wordtie.data.token_file import PreparedData, write_token_files
from wordtie.errors import require
from wordtie.ngrams.kneser_ney import fit_kneser_ney
from wordtie.ngrams.memory import check_ngrams_fit
from wordtie.ngrams.trie import NgramTrie
from wordtie.ngrams.unigram import Unigram


@dataclass(frozen=True)
class Baselines:
    """Perplexities, and the counts and policies that give them their meaning."""

    corpus: str
    split: str
    perplexity: Mapping[str, float]
    """Perplexity by the name of the model."""
    nats: Mapping[str, float]
    tokens: int
    """Number of tokens, `<eos>` included."""
    oov: int
    unk: int
    """Number of `<unk>` in the text itself."""
    eos: int
    vocabulary_size: int
    unk_policy: str
    eos_policy: str


def measure_baselines(settings: DataSettings, order: int = 5, split: Literal["valid", "test"] = "test") -> Baselines:
    """Fit both to the training text of the settings and measure another of its texts.

    Raises `SettingsError` for an order that is not from 1 to 100 or too large for the memory, `DataError` for a text
    that cannot be used.
    """
    require(1 <= order <= LONGEST, f"order must be from 1 to {LONGEST}, got {order}")
    with tempfile.TemporaryDirectory(prefix="wordtie-baseline-") as folder:
        data = write_token_files(settings, Path(folder), StageProgress())
        with waiting("counting n-grams"):
            return _measure(data, order, split)


def _measure(data: PreparedData, order: int, split: str) -> Baselines:
    vocabulary = data.vocabulary
    eos_id = data.tokenizer.sentence_end
    text = data.test if split == "test" else data.valid
    check_ngrams_fit(len(data.train), order, "take a smaller --order")
    models: dict[str, Unigram | NgramTrie] = {
        "unigram": Unigram.fit(data.train, len(vocabulary)),
        f"Kneser-Ney {order}-gram": fit_kneser_ney(data.train, len(vocabulary), order, eos_id=eos_id),
    }
    nats = {name: -float(model.log_probabilities(text).sum()) for name, model in models.items()}
    counts = data.info.splits[split]
    return Baselines(
        corpus=data.info.corpus,
        split=split,
        perplexity={name: math.exp(sum_of_nats / len(text)) for name, sum_of_nats in nats.items()},
        nats=nats,
        tokens=len(text),
        oov=counts.oov,
        unk=counts.unk,
        eos=counts.eos,
        vocabulary_size=len(vocabulary),
        unk_policy=data.info.policy.unk,
        eos_policy=data.info.policy.eos,
    )
