"""A model over more words than an earlier one, measured as if it had the earlier one's.

A word that the earlier model did not know was `<unk>` to it; the later one may know it. What is the same for both is
the probability that some word comes which the earlier one does not know:

    p'(<unk> | h) = p(<unk> | h) + sum over new words w of p(w | h),        p'(w | h) = p(w | h) for old words

p' sums to one over the old words, so that its perplexity can be compared with the earlier model's, token by token.
Old words have the ids 0 to `words` - 1 (`wordtie.data.vocabulary.Vocabulary.extended`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordtie.data.batches import Ids
from wordtie.evaluation.hits import VALUES_AT_ONCE
from wordtie.evaluation.perplexity import Score
from wordtie.models.next_word import NextWordModel


def evaluate_earlier_words(model: NextWordModel[Any], ids_N: Ids, words: int) -> Score:
    """Score a text with the ids of an earlier vocabulary of so many words, as one stream."""
    state, nats, unk_id = model.initial_state(1), 0.0, model.vocabulary.unk_id
    steps = max(1, VALUES_AT_ONCE // len(model.vocabulary))
    for first in range(0, len(ids_N), steps):
        ids_T1 = np.asarray(ids_N[first : first + steps], np.int64)[:, None]
        p_T1V, state = model.distributions(ids_T1, state)
        p_T = np.take_along_axis(p_T1V[:, 0], ids_T1, 1)[:, 0].astype(np.float64)
        is_unk_T = ids_T1[:, 0] == unk_id
        p_T[is_unk_T] += p_T1V[is_unk_T, 0, words:].sum(1, dtype=np.float64)
        nats -= float(np.log(p_T).sum())
    return Score(nats, len(ids_N))
