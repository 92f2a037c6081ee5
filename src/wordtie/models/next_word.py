"""`NextWordModel`: what surprisal, predict, generate, evaluate and every other user of a model depends on.

The network, the n-gram model and a mixture of models implement it. A model reads B streams side by side. A state
holds whatever it needs to know of what they have read; it is never changed, so that it can be kept and used again.

    state = model.initial_state(1)                            # one stream, which has read <eos> and nothing else
    log_p_TB, _, state = model.score(ids_TB, state)           # a text of known words
    log_p_BV = model.next(state)                              # what may follow
    state = model.advance(word_TB, model.select(state, [0]))  # and then this

Arrays at this interface are numpy's, on the CPU, so neither users nor an n-gram model need torch. Log-probabilities
and entropies are natural, in nats. Streams of unequal length are padded at their end with `PADDING`: what a padded
stream holds afterwards is not defined.

Shapes: T steps, B streams, V words of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wordtie.data.batches import Ids
from wordtie.data.vocabulary import Vocabulary

Nats: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.floating[Any]]
"""float32 or float64, as the model computes."""
Queries: TypeAlias = NDArray[np.float32]
"""The vectors from which a network predicts words."""
SMALLEST_LOG_P = -87.0
"""Log p below which float32 has no normal number for p."""
S = TypeVar("S")
"""A model's state."""


class NextWordModel(Protocol[S]):
    """p(next word | words before it), over the words of one vocabulary."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The words, by their ids."""

    def initial_state(self, streams: int) -> S:
        """Return the state of streams that have read `<eos>` and nothing else."""

    def score(self, ids_TB: Ids, state: S, entropy: bool = False) -> tuple[Nats, Nats | None, S]:
        """Return (log p of each id, (T, B); entropy of each prediction, (T, B), or None; the state after them).

        Entropies are computed with `entropy` only. Both are 0 where the id is `PADDING`.
        """

    def distributions(self, ids_TB: Ids, state: S) -> tuple[Floats, S]:
        """Return (p of every word before each id is read, (T, B, V); the state after them).

        This is large: pass a few ids at a time. Where the id is `PADDING`, the values are not defined.
        """

    def next(self, state: S) -> Floats:
        """Return log p of every word, (B, V)."""

    def advance(self, ids_TB: Ids, state: S) -> S:
        """Return the state after these words, without the cost of their scores."""

    def select(self, state: S, streams: Sequence[int] | NDArray[np.intp]) -> S:
        """Return the state of these streams, in this order; a stream may be taken several times, or not at all."""


@runtime_checkable
class ReadsApart(Protocol):
    """A model that reads texts that end at different places in one go, if no state is needed."""

    def after(self, texts: Sequence[Ids]) -> Floats:
        """Return log p of every word after each text, (texts, V): what `next` returns after `advance`."""
