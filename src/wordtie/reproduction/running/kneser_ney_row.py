"""The Kneser-Ney rows: n-gram models, measured like every other model."""

from __future__ import annotations

import hashlib
import math
import time

from wordtie.data.token_file import PreparedData
from wordtie.reproduction.ledger.record import Stage
from wordtie.runs.provenance import machine, versions


def kneser_ney(data: PreparedData, order: int = 5) -> Stage:
    """Return the results of an n-gram model; its parameters are the n-grams that have a probability."""
    from wordtie.ngrams.kneser_ney import fit_kneser_ney

    started = time.monotonic()
    model = fit_kneser_ney(data.train, len(data.vocabulary), order, eos_id=data.tokenizer.sentence_end)
    valid, test = (-float(model.log_probabilities(text).sum()) for text in (data.valid, data.test))
    digest = hashlib.sha256(model.unigram.tobytes())
    for level in model.levels:
        for array in vars(level).values():
            digest.update(array.tobytes())
    computed = versions()
    return {
        "code_version": computed["code_version"],
        "torch": computed["torch"],
        "python": computed["python"],
        "machine": machine(),
        "precision": "float64",
        "epochs": 1,
        "best_epoch": 1,
        "seconds": round(time.monotonic() - started, 1),
        "valid_perplexity": math.exp(valid / len(data.valid)),
        "valid_nats": valid,
        "valid_tokens": len(data.valid),
        "test_perplexity": math.exp(test / len(data.test)),
        "test_nats": test,
        "test_tokens": len(data.test),
        "parameters": model.ngrams,
        "weights_sha256": digest.hexdigest(),
    }
