"""A model over more words than an earlier one, measured as if it had the earlier one's.

A word that the earlier model did not know was `<unk>` to it; the later one may know it. What is the same for both is
the probability that some word comes which the earlier one does not know:

    p'(<unk> | h) = p(<unk> | h) + sum over new words w of p(w | h),        p'(w | h) = p(w | h) for old words

p' sums to one over the old words, so that its perplexity can be compared with the earlier model's, token by token.
Old words have the ids 0 to `words` - 1 (`wordtie.data.vocabulary.Vocabulary.extended`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wordtie.data.batches import PADDING, Ids
from wordtie.data.vocabulary import Vocabulary
from wordtie.evaluation.perplexity import TOKENS_AT_ONCE, Score, queries
from wordtie.models.mixture import VALUES_AT_ONCE
from wordtie.models.next_word import NextWordModel

if TYPE_CHECKING:  # a `NextWordModel` is measured without torch
    from wordtie.models.language_model import LanguageModel

STREAMS = 10
"""Streams in which a text is read to compare models: quicker than one, and a little worse."""


def evaluate_earlier_words(model: NextWordModel[Any], ids_N: Ids, words: int) -> Score:
    """Score a text with the ids of an earlier vocabulary of `words` words, as one stream.

    For an `<unk>`, the probability of every word is computed; elsewhere, only that of the word that comes.
    """
    state, nats, unk_id = model.initial_state(1), 0.0, model.vocabulary.unk_id
    is_unk_N = ids_N == unk_id
    for stretch_N in np.split(ids_N, np.flatnonzero(np.diff(is_unk_N)) + 1):
        is_unk = (stretch_N[:1] == unk_id).any()
        steps = max(1, VALUES_AT_ONCE // len(model.vocabulary)) if is_unk else TOKENS_AT_ONCE
        for first in range(0, len(stretch_N), steps):
            ids_T1 = np.asarray(stretch_N[first : first + steps], np.int64)[:, None]
            if is_unk:
                p_T1V, state = model.distributions(ids_T1, state)
                new_T = p_T1V[:, 0, words:].sum(1, dtype=np.float64)
                nats -= float(np.log(p_T1V[:, 0, unk_id].astype(np.float64) + new_T).sum())
            else:
                log_p_T1, _, state = model.score(ids_T1, state)
                nats -= float(log_p_T1.sum())
    return Score(nats, len(ids_N))


def evaluate_network_on_earlier_words(model: LanguageModel, ids_N: Ids, words: int, vocabulary: Vocabulary) -> Score:
    """Score a text as `evaluate_earlier_words` does, with a network and in `STREAMS` streams, to compare models by.

    `vocabulary`: words that the model has, of which the first `words` are the text's.
    """
    import torch

    from wordtie.models.network import LogProbabilities, evaluating

    nats, unk_id, log_probabilities = 0.0, vocabulary.unk_id, LogProbabilities(model)
    with evaluating(model) as device:
        for query_NE, targets_N in queries(model, ids_N, vocabulary.eos_id, min(STREAMS, len(ids_N)), device):
            for log_p_NV, here_N in log_probabilities(query_NE, targets_N):
                log_p_N = log_p_NV.gather(1, here_N.clamp(min=0)[:, None])[:, 0]
                of_unk_UV = log_p_NV[here_N == unk_id]
                unknown_UW = torch.cat([of_unk_UV[:, unk_id, None], of_unk_UV[:, words:]], 1)
                log_p_N[here_N == unk_id] = unknown_UW.logsumexp(1)
                nats -= float(log_p_N[here_N != PADDING].sum())
    return Score(nats, len(ids_N))
