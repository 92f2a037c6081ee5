"""The Kneser-Ney rows: a model by counting, measured as every other."""

from __future__ import annotations

import hashlib
import math
import time
from typing import Any

from wordtie.data.token_file import PreparedData


def kneser_ney(data: PreparedData, order: int = 5) -> dict[str, Any]:
    """The numbers of an n-gram model; its parameters are the n-grams it keeps a probability for."""
    from wordtie.ngrams.kneser_ney import KneserNey

    started = time.monotonic()
    eos_id = data.vocabulary.eos_id if data.tokenizer.sentences else None
    model = KneserNey.fit(data.train, len(data.vocabulary), order, eos_id=eos_id)
    scores: dict[str, Any] = {}
    for split, text in (("valid", data.valid), ("test", data.test)):
        nats = -float(model.log_probabilities(text).sum())
        scores |= {
            f"{split}_perplexity": math.exp(nats / len(text)),
            f"{split}_nats": nats,
            f"{split}_tokens": len(text),
        }
    digest = hashlib.sha256(model.unigram.tobytes())
    for each in model.higher:
        digest.update(each.discounted.tobytes() + each.backoff.tobytes())
    return {
        "precision": "float64",
        "epochs": 1,
        "best_epoch": 1,
        "seconds": round(time.monotonic() - started, 1),
        **scores,
        "parameters": len(model.unigram) + sum(len(each.discounted) - 1 for each in model.higher),
        "weights_sha256": digest.hexdigest(),
    }
