"""Every setting of word2vec and its one default; the names and meanings are gensim's. No torch import."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from wordtie.config import DataSettings, Settings, to_dict
from wordtie.config.checks import check_seed, check_types
from wordtie.config.unused_settings import unused
from wordtie.errors import require

MIN_COUNT = 5
"""Default of `data.min_count` for word2vec, as in gensim; a language model keeps rarer words."""


@dataclass(frozen=True)
class Word2VecSettings:
    """Skip-gram or CBOW with negative sampling (Mikolov et al. 2013), its two matrices untied or tied."""

    algorithm: Literal["skipgram", "cbow"] = "skipgram"
    """Predict context words (`skipgram`) or the word from them (`cbow`). `skipgram` predicts the word from each word of
    its context, as gensim does, `cbow` from all of it."""
    head: Literal["untied", "tied", "tied_linear"] = "untied"
    """Matrices: two (`untied`), one (`tied`), or one and a linear map (`tied_linear`). The map is between the input
    vectors and the query (gulordava-2018, tied+L)."""
    vector_size: int = 100
    """E: numbers in a word vector."""
    window: int = 5
    """Largest distance between a word and its context. Each word draws its own from 1 to this."""
    negative: int = 5
    """Noise words per prediction. One that is the target itself is left out."""
    ns_exponent: float = 0.75
    """Noise words are drawn by count to this power."""
    sample: float = 1e-3
    """Words more frequent than this share of the text are thinned out (0: none)."""
    alpha: float | None = None
    """Learning rate at the start. None: 0.025, as in gensim; for CBOW with `tied_linear` 0.01."""
    min_alpha: float = 1e-4
    """Learning rate at the end. It falls linearly with the words read."""
    cbow_mean: bool | None = None
    """CBOW predicts from the mean of the context (true) or its sum (false). Each vector of a sum moves by its share of
    the error. None: the mean, as in gensim; with `tied_linear` the sum, as in gulordava-2018."""
    linear_rate: float = 20.0
    """Factor on alpha for the linear map of `tied_linear`. The map moves by this times alpha times the mean gradient of
    a block: of the first in each piece of the text, and of every fourth after it. With `cbow` that gradient is of one
    word's share of the query, which is smaller by about the number of words in a window."""
    epochs: int = 5
    """Passes over the training text."""
    workers: int = 2
    """CPU threads. One gives bit-identical vectors; more train without locks, from the same random numbers."""
    seed: int = 1
    """Seed of all random numbers."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Precision of products with the map of `tied_linear`: `auto`, `fp32` or `bf16`. `auto` takes bf16 if the machine
    has instructions for it. All else is fp32."""

    def __post_init__(self) -> None:
        check_types(self, "word2vec")
        for name in ("vector_size", "window", "epochs", "workers"):
            value = getattr(self, name)
            require(value >= 1, f"word2vec.{name} must be at least 1, got {value}")
        require(self.workers <= 1024, f"word2vec.workers must be at most 1024, got {self.workers}")
        require(1 <= self.negative <= 500, f"word2vec.negative must be from 1 to 500, got {self.negative}")
        exponent = self.ns_exponent
        require(-10 <= exponent <= 10, f"word2vec.ns_exponent must be from -10 to 10, got {exponent}")
        require(0 <= self.sample < 1, f"word2vec.sample must be in [0, 1), got {self.sample}")
        require(self.rate > 0, f"word2vec.alpha must be positive, got {self.rate}")
        require(
            0 <= self.min_alpha <= self.rate,
            f"word2vec.min_alpha must be from 0 to alpha ({self.rate}), got {self.min_alpha}",
        )
        require(self.linear_rate >= 0, f"word2vec.linear_rate must not be negative, got {self.linear_rate}")
        check_seed(self.seed, "word2vec.seed")

    @property
    def rate(self) -> float:
        """`alpha`, with the default resolved."""
        if self.alpha is not None:
            return self.alpha
        return 0.01 if (self.algorithm, self.head) == ("cbow", "tied_linear") else 0.025

    def unused_settings(self) -> list[str]:
        """A line for each setting that differs from its default and is not used."""
        why = {"cbow_mean": "word2vec.algorithm skipgram"} if self.algorithm == "skipgram" else {}
        if self.head != "tied_linear":
            why |= dict.fromkeys(("linear_rate", "precision"), f"word2vec.head {self.head}")
        return unused("word2vec", self, why)

    @property
    def mean(self) -> bool:
        """`cbow_mean`, with the default resolved."""
        return self.head != "tied_linear" if self.cbow_mean is None else self.cbow_mean


def recipe(data: DataSettings, settings: Word2VecSettings) -> dict[str, dict[str, Any]]:
    """Return plain values, as a recipe and the run folder's `settings.yaml` hold them."""
    return {"data": to_dict(Settings(data=data))["data"], "word2vec": asdict(settings)}


def with_min_count(data: DataSettings) -> DataSettings:
    """Return the settings of the text, with `data.min_count` set to `MIN_COUNT` if it is None."""
    return replace(data, min_count=MIN_COUNT) if data.min_count is None else data
