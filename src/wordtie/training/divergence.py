"""When a training has diverged, and what its user is told.

A loss or a weight that is not a number ends a training at once. Numbers may also stay finite and lose their meaning:
weights of 1e6 give a perplexity of 1e300. The rule compares with a model that knows nothing. It gives each of V words
the probability 1 / V, and so has ln V nats a token, which is the perplexity V. A training has diverged when its
validation text has more than twice as many, which is a perplexity above V squared, and more than ln 10^6.

The margin is wide on purpose. A model that overfits a small text is confident and often wrong, and its validation
perplexity may well be above V: results/inan-2017/figure-1 has one that goes up to 15 V, and its best epoch is as good
as any. The second bound keeps the rule away from vocabularies of a few words, where V squared is soon reached.
"""

from __future__ import annotations

import math
from pathlib import Path

from wordtie.config import TrainingSettings
from wordtie.errors import DivergedError
from wordtie.evaluation.format_perplexity import format_perplexity
from wordtie.evaluation.perplexity import Score
from wordtie.runs.parameters import check_numbers
from wordtie.runs.result import Position
from wordtie.training.task import Tensors

LEAST_LIMIT = math.log(1e6)
"""Nats per token below which no training counts as diverged, however small the vocabulary."""
NO_NUMBER = "the loss is not a number"


def limit(words: int) -> float:
    """Return the nats per token above which a training over `words` words has diverged.

    >>> round(math.exp(limit(100))), round(math.exp(limit(10_000)))
    (1000000, 100000000)
    """
    return max(2 * math.log(words), LEAST_LIMIT)


def why_diverged(score: Score, words: int, most: float | None = None) -> str:
    """Return what is wrong with a score; empty if nothing is. `most`: nats per token, `limit(words)` unless given."""
    if not math.isfinite(score.nats):
        return NO_NUMBER
    if score.nats / score.tokens <= (limit(words) if most is None else most):
        return ""
    return f"the perplexity {format_perplexity(score.perplexity)} is worse than any guess"


def why_unusable(tensors: Tensors) -> str:
    """Return why parameters to be exported could not be loaded again; empty if they could."""
    try:
        check_numbers(tensors)
    except ValueError as error:
        return str(error)
    return ""


def diverged(folder: Path, training: TrainingSettings, position: Position, what: str, where: str) -> DivergedError:
    """Return the error to raise: what was found, where in the current epoch, what is kept, and what to try."""
    which = "best" if training.keep == "best" else "last"
    kept = f"the {which} validated model is kept" if position.history else "no model was validated before"
    clip = f"--clip {training.clip / 2:g}" if training.clip else "--clip 5"
    return DivergedError(
        f"{folder}: {what} at epoch {position.epoch}, {where}; {kept}. "
        f"Try --lr {training.lr / 2:g} or {clip}, in another --out or with --overwrite"
    )
