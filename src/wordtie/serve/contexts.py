"""Contexts of any lengths, read side by side.

Shapes: T steps, V words.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from wordtie.data.batches import Ids, streams_for
from wordtie.evaluation.perplexity import TOKENS_AT_ONCE
from wordtie.models.joining import join
from wordtie.models.next_word import Floats, NextWordModel, ReadsApart


def after_each(model: NextWordModel[Any], contexts: Sequence[Ids]) -> list[tuple[int, Floats]]:
    """Return pairs of (index of a context, log p of every word after it, (V,))."""
    if isinstance(model, ReadsApart) and max(map(len, contexts)) <= TOKENS_AT_ONCE:
        return list(enumerate(model.after(contexts)))
    found: list[tuple[int, Floats]] = []
    for places, state in read_each(model, contexts):
        found += zip(places, model.next(state), strict=True)
    return found


def read_each(model: NextWordModel[Any], contexts: Sequence[Ids]) -> list[tuple[list[int], Any]]:
    """Return pairs of (indices of contexts, the state after them): one if the model's states can be joined, or a few.

    The state of a padded stream is not defined, so none is padded: the streams are read side by side up to the end
    of the shortest, which is then removed.
    """
    order = sorted(range(len(contexts)), key=lambda place: len(contexts[place]))
    found: list[tuple[list[int], Any]] = []
    state, at = model.initial_state(streams_for(len(order))), 0
    for length, same in groupby(order, key=lambda place: len(contexts[place])):
        here, staying = list(same), order[sum(len(places) for places, _ in found) :]
        staying += [staying[-1]] * (streams_for(len(staying)) - len(staying))
        if length > at:
            state = model.advance(np.stack([contexts[place][at:length] for place in staying], 1), state)
            at = length
        found.append((here, model.select(state, range(len(here)))))
        if left := range(len(here), len(set(staying))):
            state = model.select(state, [*left, *[left[-1]] * (streams_for(len(left)) - len(left))])
    joined = join([state for _, state in found]) if found else None
    return found if joined is None else [(order, joined)]
