"""The Kneser-Ney rows: a model by counting, measured as every other."""

from __future__ import annotations

import hashlib
import math
import time
from typing import Any

from wordtie.data.token_file import PreparedData


def kneser_ney(data: PreparedData, order: int = 5) -> dict[str, Any]:
    """The numbers of an n-gram model; its parameters are the n-grams it keeps a probability for."""
    from wordtie.ngrams.kneser_ney import fit_kneser_ney

    started = time.monotonic()
    eos_id = data.vocabulary.eos_id if data.tokenizer.sentences else None
    model = fit_kneser_ney(data.train, len(data.vocabulary), order, eos_id=eos_id)
    scores: dict[str, Any] = {}
    for split, text in (("valid", data.valid), ("test", data.test)):
        nats = -float(model.log_probabilities(text).sum())
        scores |= {
            f"{split}_perplexity": math.exp(nats / len(text)),
            f"{split}_nats": nats,
            f"{split}_tokens": len(text),
        }
    digest = hashlib.sha256(model.unigram.tobytes())
    for level in model.levels:
        for array in vars(level).values():
            digest.update(array.tobytes())
    return {
        "precision": "float64",
        "epochs": 1,
        "best_epoch": 1,
        "seconds": round(time.monotonic() - started, 1),
        **scores,
        "parameters": model.ngrams,
        "weights_sha256": digest.hexdigest(),
    }
