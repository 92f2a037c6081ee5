"""How far a run is, read from its folder while another process trains it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from wordtie.errors import RunFolderError
from wordtie.runs import live_progress
from wordtie.runs.metrics import finished_epochs, read_metrics

ENOUGH = 0.02
"""The share of the first epoch after which its speed predicts the rest: it begins with work that is done once."""


@dataclass(frozen=True)
class RunProgress:
    """Epochs, perplexities and time left of a run."""

    epoch: int = 0
    """Number of finished epochs."""
    epochs: int = 0
    """Epochs in all, unless early stopping ends the run sooner; 0 if the run has none."""
    valid_perplexity: float | None = None
    """Validation perplexity after the last finished epoch."""
    best_perplexity: float | None = None
    """The lowest validation perplexity."""
    seconds_left: float | None = None
    """Seconds until the end of the last epoch; None if unknown."""
    share: float = 0.0
    """The finished share of the epoch in training."""
    damaged: bool = False
    """Whether the metrics cannot be read."""
    of_tokens: bool = False
    """Whether the run has a budget of tokens; `share` is then the finished share of it, and there are no epochs."""

    @classmethod
    def from_folder(
        cls, folder: Path, epochs: int, running: bool, to_come: int = 0, tokens: int | None = None
    ) -> RunProgress:
        """Read a run folder; one without finished epochs is at epoch 0.

        `running` adds the epoch in training. `to_come` epochs follow in another folder and count as time left. With
        `tokens`, the budget is this number of tokens, and `epochs` is ignored.
        """
        if tokens is not None:
            return cls._of_tokens(folder, tokens, running)
        try:
            lines = finished_epochs(folder)
        except RunFolderError:
            return cls(0, epochs, damaged=True)
        valid, finished = [line["valid_perplexity"] for line in lines], lines[-1]["epoch"] if lines else 0
        begun, seconds = (live_progress.read(folder) if running else None) or (0.0, 0.0)
        share = begun - finished if finished < begun <= finished + 1 else 0.0
        of_one = lines[-1]["seconds"] / finished if lines else seconds / begun if share > ENOUGH else None
        left = None if of_one is None else (max(0, epochs - finished - share) + to_come) * of_one
        last, best = (valid[-1], min(valid)) if valid else (None, None)
        return cls(finished, epochs, last, best, left, share)

    @classmethod
    def _of_tokens(cls, folder: Path, tokens: int, running: bool) -> RunProgress:
        """Read the last line, and assume its speed since then: lines are a few hundred windows apart."""
        try:
            lines = read_metrics(folder)
        except RunFolderError:
            return cls(damaged=True, of_tokens=True)
        valid = [line["valid_perplexity"] for line in lines if "valid_perplexity" in line]
        share, left = 0.0, None
        if lines and lines[-1].get("tokens"):
            known, seconds = lines[-1]["tokens"] / tokens, lines[-1]["seconds"]
            _, now = (live_progress.read(folder) if running else None) or (0.0, 0.0)
            share = share_now(known, seconds, now)
            left = seconds / known * (1 - share)
        last, best = (valid[-1], min(valid)) if valid else (None, None)
        return cls(0, 0, last, best, left, share, of_tokens=True)


def share_now(known: float, seconds: float, now: float) -> float:
    """Return the share of a budget trained after `now` seconds, from that `known` after `seconds`, at constant speed.

    >>> share_now(0.5, seconds=20.0, now=30.0), share_now(0.5, seconds=20.0, now=0.0)
    (0.75, 0.5)
    """
    return min(1.0, known * max(1.0, now / seconds if seconds else 1.0))


def hundredths(epochs: float) -> str:
    """Format epochs to two decimals, rounded down, so that an unfinished epoch never reads as a finished one.

    >>> hundredths(2.999), hundredths(3.0)
    ('2.99', '3')
    """
    return f"{math.floor(100 * epochs + 1e-6) / 100:.2f}".removesuffix(".00")
