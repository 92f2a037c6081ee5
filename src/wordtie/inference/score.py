"""Bits per sentence: -log2 of the probability that a model gives to whole sentences.

Sentences are scored side by side. The score of one does not depend on the others, nor on their order: each different
sentence is scored once, in an order of its own, and what follows its end in a batch is padding.

Shapes: T steps, B streams.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from wordtie.data.batches import side_by_side
from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import require
from wordtie.evaluation.perplexity import TOKENS_AT_ONCE
from wordtie.inference.predict import as_file
from wordtie.models.next_word import NextWordModel

Key = tuple[int, ...]


def score(
    model: NextWordModel[Any], tokenizer: Tokenizer, sentences: Sequence[str], tokens_at_once: int = TOKENS_AT_ONCE
) -> list[float]:
    """Compute the bits of each sentence, from an empty context and with the `<eos>` at its end if the model has one.

    Sentences of the same ids have bit-identical scores. Raises `SettingsError` for a string in place of a list.
    """
    require(not isinstance(sentences, str), "give a list of sentences, not one string")
    keys = [tuple(tokenizer.encode(as_file(sentence)).tolist()) for sentence in sentences]
    bits = dict.fromkeys(keys, 0.0)
    for batch in _batches(sorted(filter(None, bits), key=lambda ids: (len(ids), ids)), tokens_at_once):
        bits |= zip(batch, _bits(model, batch, tokens_at_once), strict=True)
    return [bits[key] for key in keys]


def _batches(texts: Sequence[Key], tokens_at_once: int) -> Iterator[list[Key]]:
    """Yield batches of texts of similar length, as large as `tokens_at_once` allows."""
    batch: list[Key] = []
    for text in texts:
        if batch and len(text) * (len(batch) + 1) > tokens_at_once:
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


def _bits(model: NextWordModel[Any], texts: Sequence[Key], tokens_at_once: int) -> list[float]:
    ids_TB = side_by_side(texts)
    streams = ids_TB.shape[1]
    state, nats_B = model.initial_state(streams), np.zeros(streams)
    steps = max(1, tokens_at_once // streams)
    for first in range(0, len(ids_TB), steps):
        log_p_TB, _, state = model.score(ids_TB[first : first + steps], state)
        nats_B -= log_p_TB.sum(0)
    return [float(nats) / math.log(2) for nats in nats_B[: len(texts)]]
