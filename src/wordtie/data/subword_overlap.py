"""Count the subwords that the two languages share: table 1 of Press & Wolf (2017)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wordtie.data.bitext import Bitext


@dataclass(frozen=True)
class Overlap:
    """Numbers of subwords that occur in the source training sentences only, in the target ones only, and in both."""

    source_only: int
    target_only: int
    both: int

    def shares(self) -> tuple[float, float, float]:
        """Return the three numbers as shares of all subwords that occur.

        >>> Overlap(1, 1, 2).shares()
        (0.25, 0.25, 0.5)
        """
        total = self.source_only + self.target_only + self.both
        return self.source_only / total, self.target_only / total, self.both / total


def overlap(data: Bitext) -> Overlap:
    """Count the subwords of the training pairs."""

    def used(sentences: Iterable[Sequence[int]], side: str) -> set[str]:
        words = getattr(data.tokenizer, side).vocabulary.words
        return {words[number] for number in {number for each in sentences for number in each}}

    source, target = used(data.train.source, "source"), used(data.train.target, "target")
    return Overlap(len(source - target), len(target - source), len(source & target))
