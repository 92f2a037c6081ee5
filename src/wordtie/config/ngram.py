"""Settings of an n-gram model."""

from __future__ import annotations

from dataclasses import dataclass, field

from wordtie.config.checks import check_types
from wordtie.config.data import DataSettings
from wordtie.errors import require

LONGEST = 100
"""Most words in an n-gram: longer ones recur only in copied text, and each order is counted separately."""


@dataclass(frozen=True)
class MixedNgramSettings:
    """The section `ngram` of a recipe for `wordtie train`, which mixes an n-gram model in."""

    order: int | None = 5
    """Words in the longest n-gram; none for no model."""
    minimum_counts: tuple[int, ...] = (1,)
    """Has no effect here: a model that is mixed in keeps all n-grams."""

    def __post_init__(self) -> None:
        require(
            self.order is None or 1 <= self.order <= LONGEST,
            f"ngram.order must be none or a whole number from 1 to {LONGEST}, got {self.order}",
        )


@dataclass(frozen=True)
class NgramSettings:
    """Everything that decides an n-gram model."""

    data: DataSettings = field(default_factory=DataSettings)
    order: int = 5
    """Words in the longest n-gram."""
    minimum_counts: tuple[int, ...] = (1,)
    """Drop n-grams with smaller counts, for each order from 1; the last number holds for all higher orders. The count
    of all but the longest is Kneser and Ney's: how many different words come before them. With (1, 1, 2), the file for
    Penn Treebank has a quarter of the size, and the perplexity is 5 % higher."""

    def __post_init__(self) -> None:
        check_types(self, "ngram")
        right = 1 <= self.order <= LONGEST
        require(right, f"order must be a whole number from 1 to {LONGEST}, got {self.order!r}")
        require(
            1 <= len(self.minimum_counts) <= self.order and min(self.minimum_counts) >= 1,
            f"minimum_counts must be 1 to {self.order} numbers of at least 1, got {list(self.minimum_counts)}",
        )

    @property
    def minimum_of_each_order(self) -> list[int]:
        """`minimum_counts` with a number for each order."""
        return [*self.minimum_counts, *[self.minimum_counts[-1]] * (self.order - len(self.minimum_counts))]
