"""A corpus in, a run folder of an n-gram model out."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from wordtie.config.ngram import NgramSettings
from wordtie.data.prepare import prepare
from wordtie.ngrams.kneser_ney import fit_kneser_ney
from wordtie.runs import layout, run_folder
from wordtie.runs.ngram_run import SavedNgrams, as_sections, write_ngrams
from wordtie.runs.result import RunResult
from wordtie.storage.atomic import write_text


@dataclass(frozen=True)
class NgramResult(RunResult):
    """An n-gram model that was trained, and how well it predicts. No token is dropped."""

    ngrams: int
    """N-grams that are stored, words included."""
    bytes: int
    """Of the model's file."""
    seconds: float
    """To count and to write."""
    valid_perplexity: float
    valid_nats: float
    valid_tokens: int
    test_perplexity: float
    test_nats: float
    test_tokens: int


def train_ngrams(settings: NgramSettings, out: str | Path, overwrite: bool = False) -> NgramResult:
    """Fit modified Kneser-Ney n-grams to the training text and write the run folder.

    Contexts end at the sentence if the corpus has one a line. Raises `RunFolderError` where a run is there already and
    `overwrite` is not given, `DataError` for a text that cannot be used.
    """
    out = run_folder.named(out)
    run_folder.check_free(out, resume=None, overwrite=overwrite)
    data = prepare(settings.data)
    with run_folder.locked(out):
        run_folder.check_free(out, resume=None, overwrite=overwrite)
        started = time.monotonic()
        trie = fit_kneser_ney(
            data.train,
            len(data.vocabulary),
            settings.order,
            eos_id=data.vocabulary.eos_id if data.tokenizer.sentences else None,
            minimum_counts=settings.minimum_of_each_order,
        )
        write_ngrams(out, SavedNgrams(settings, trie, data.tokenizer, data.texts))
        seconds = time.monotonic() - started
        if overwrite:
            run_folder.clear(out, but=layout.MODEL_FILES)
        write_text(out / layout.SETTINGS, yaml.safe_dump(as_sections(settings), sort_keys=False))
        nats = {split: -float(trie.log_probabilities(getattr(data, split)).sum()) for split in ("valid", "test")}
        result = NgramResult(
            folder=out,
            ngrams=trie.ngrams,
            bytes=(out / layout.MODEL).stat().st_size,
            seconds=round(seconds, 2),
            valid_perplexity=math.exp(nats["valid"] / len(data.valid)),
            valid_nats=nats["valid"],
            valid_tokens=len(data.valid),
            test_perplexity=math.exp(nats["test"] / len(data.test)),
            test_nats=nats["test"],
            test_tokens=len(data.test),
        )
        result.save()
    return result
