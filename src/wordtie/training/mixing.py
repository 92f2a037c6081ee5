"""An n-gram model of the training text, and its mixture with the network that was trained on the same text.

Both lie in the network's run folder, which stays the run folder of a language model: `ngram/` holds the counts,
`mixture/` the weights, and the parts as hard links where possible. The mixture lists the parts' SHA-256, so a mixture
that is older than the network is not mistaken for its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wordtie.config.ngram import NgramSettings
from wordtie.data.batches import Ids
from wordtie.evaluation.perplexity import Score
from wordtie.models.mixture import Classes, Mixture, log_p_of_tokens, log_probabilities
from wordtie.models.network import Network
from wordtie.models.next_word import Nats, Queries
from wordtie.models.recent_words import (
    best_adaptive_mixture,
    recent_words_of,
    text_queries,
    with_recent_words,
)
from wordtie.ngrams.kneser_ney import fit_kneser_ney
from wordtie.ngrams.model import NgramModel
from wordtie.runs.layout import MIXTURE_FOLDER, MODEL, NGRAMS
from wordtie.runs.mixture_run import write_mixture
from wordtie.runs.ngram_run import SavedNgrams, write_ngrams
from wordtie.runs.result import TrainingResult
from wordtie.training.language_modelling import LanguageModelling
from wordtie.training.rehearsal import EarlierText, Texts

EMPTY: Mapping[str, Nats] = MappingProxyType({})


def mix_with_ngrams(
    result: TrainingResult,
    settings: NgramSettings,
    texts: Texts,
    task: LanguageModelling,
) -> TrainingResult:
    """Fit n-grams to the training text and weights to the validation text; write both beside the network.

    `task`: the one that the network was trained and measured on. Saves the result with the figures of the n-gram model
    and of the mixture, over the same tokens, and returns it. A run that extends another counts its text, too, and fits
    weights on both validation texts, in the proportion of the training texts.
    """
    started = time.monotonic()
    data = texts.for_counting()
    folder, tokenizer = result.folder, data.tokenizer
    for name in (NGRAMS, MIXTURE_FOLDER):  # a link to another run, which must not be written through
        if (folder / name).is_symlink():
            (folder / name).unlink()
    trie = fit_kneser_ney(data.train, len(data.vocabulary), settings.order, eos_id=tokenizer.sentence_end)
    parts = (Network(task.model, data.vocabulary), NgramModel(data.vocabulary, trie))
    read = {
        split: _Read.of(parts, ids, task.log_p.get(split, ()), task.queries.get(split, ()))
        for split, ids in (("valid", task.valid), ("test", task.test))
    }
    valid = read["valid"]
    pieces = texts.for_weights(task.settings.training.rehearsal, len(valid.ids_N))
    fitted = _Read.joined([valid, *(_Read.unread(parts, ids_N, valid.query_NE is not None) for ids_N in pieces)])
    mixture, log_p_N, _ = best_adaptive_mixture(parts, fitted.ids_N, fitted.log_p_NP, fitted.class_N, fitted.query_NE)
    # not before: a run that is interrupted while weights are fitted keeps the n-grams that its mixture is of
    write_ngrams(folder / NGRAMS, SavedNgrams(settings, trie, tokenizer, data.texts))
    write_mixture(folder / MIXTURE_FOLDER, [folder, folder / NGRAMS], mixture, tokenizer, link=True)
    alone_RP = np.array([[0.0, 1.0]])
    of_ngrams = _figures(read, alone_RP)
    of_mixture = _of_mixture(read, mixture, {"valid": log_p_N[: len(valid.ids_N)]})
    earlier = [each.figures | _of_earlier(each, parts[0], mixture) for each in texts.earlier] or None
    ngram = {
        "order": settings.order,
        "ngrams": trie.ngrams,
        "bytes": (folder / NGRAMS / MODEL).stat().st_size,
        "seconds": round(time.monotonic() - started, 1),  # all figures included
    }
    result = replace(result, ngram=ngram | of_ngrams, mixture=of_mixture, earlier=earlier)
    result.save()
    return result


def _of_earlier(text: EarlierText, network: Network, mixture: Mixture) -> dict[str, float]:
    """Compute the perplexities of network and mixture on the test text of an earlier run."""
    return {"network": text.perplexity(network), "mixture": text.perplexity(mixture)}


@dataclass(frozen=True)
class _Read:
    """What the parts of the mixture compute for a text."""

    ids_N: Ids
    log_p_NP: Nats
    class_N: Classes
    query_NE: Queries | None
    """The vectors from which the network predicts each token; None if they were not kept."""

    @classmethod
    def of(
        cls, parts: tuple[Network, NgramModel], ids: Ids, network: Sequence[Tensor], queries: Sequence[Tensor]
    ) -> _Read:
        """Score `ids` under both parts. `network`: log p of each token under the first part, in pieces; computed if
        empty. `queries`: the vectors from which it predicted them, in pieces."""
        query_NE = torch.cat(list(queries)).numpy() if queries else None
        if not network:
            return cls(ids, *log_probabilities(parts, [ids]), query_NE)
        log_p_N1, class_N = log_probabilities(parts[1:], [ids])
        log_p_NP = np.hstack([torch.cat(list(network)).double().numpy()[:, None], log_p_N1])
        return cls(ids, log_p_NP, class_N, query_NE)

    @classmethod
    def unread(cls, parts: tuple[Network, NgramModel], ids_N: Ids, queries: bool) -> _Read:
        """Score a text that the network has not been measured on. `queries`: whether to keep the network's queries."""
        return cls(ids_N, *log_probabilities(parts, [ids_N]), text_queries(parts, ids_N) if queries else None)

    @classmethod
    def joined(cls, texts: Sequence[_Read]) -> _Read:
        """Concatenate texts. Queries are kept if all texts have them."""
        if len(texts) == 1:
            return texts[0]
        queries = [text.query_NE for text in texts if text.query_NE is not None]
        return cls(
            np.concatenate([text.ids_N for text in texts]),
            np.concatenate([text.log_p_NP for text in texts]),
            np.concatenate([text.class_N for text in texts]),
            np.concatenate(queries) if len(queries) == len(texts) else None,
        )


def _of_mixture(texts: Mapping[str, _Read], mixture: Mixture, known: Mapping[str, Nats]) -> dict[str, Any]:
    """Return the mixture's weights and figures; if it has recent words, also their settings and the figures without.

    `known`: log p of each token of a split, if it has been computed.
    """
    weights_RP, recent = mixture.weights_RP, recent_words_of(mixture)
    found: dict[str, Any] = {"weights": weights_RP.tolist()}
    if recent:
        found |= {"recent": asdict(recent), "without_recent": _figures(texts, weights_RP)}
    return found | _figures(texts, weights_RP, mixture, known)


def _figures(
    texts: Mapping[str, _Read], weights_RP: Nats, mixture: Mixture | None = None, known: Mapping[str, Nats] = EMPTY
) -> dict[str, float]:
    """Compute perplexity, nats and tokens of each split under these weights, and the recent words of a `mixture`."""
    found: dict[str, float] = {}
    for split, read in texts.items():
        log_p_N = known.get(split)
        if log_p_N is None:
            log_p_N = log_p_of_tokens(read.log_p_NP, read.class_N, weights_RP)
            log_p_N = with_recent_words(mixture, read.ids_N, log_p_N, read.query_NE) if mixture else log_p_N
        score = Score(-float(log_p_N.sum()), len(read.class_N))
        found |= score.figures(split)
    return found
