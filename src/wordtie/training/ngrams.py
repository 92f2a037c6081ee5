"""A corpus in, a run folder of an n-gram model out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from wordtie.config.ngram import NgramSettings
from wordtie.console import say, waiting
from wordtie.data.input_warnings import training_text_warnings
from wordtie.data.prepare import prepare
from wordtie.errors import require
from wordtie.evaluation.perplexity import Score
from wordtie.ngrams.kneser_ney import fit_kneser_ney
from wordtie.ngrams.memory import check_ngrams_fit
from wordtie.runs import layout, run_folder
from wordtie.runs.ngram_run import SavedNgrams, as_sections, write_ngrams
from wordtie.runs.result import RunResult
from wordtie.storage.atomic import write_text


@dataclass(frozen=True)
class NgramResult(RunResult):
    """The result of training an n-gram model. No token is dropped."""

    ngrams: int
    """Number of n-grams that are stored, words included."""
    bytes: int
    """Size of the model's file in bytes."""
    seconds: float
    """Seconds to count and to write the n-grams."""
    valid_perplexity: float
    valid_nats: float
    valid_tokens: int
    test_perplexity: float
    test_nats: float
    test_tokens: int


def train_ngrams(settings: NgramSettings, out: str | Path, mode: run_folder.Mode = "new") -> NgramResult:
    """Fit modified Kneser-Ney n-grams to the training text and write the run folder.

    Raises `RunFolderError` if a run is there already and `mode` is `new`, `DataError` for a text that cannot be used.
    """
    require(mode != "resume", "an n-gram model is counted in one go: use mode overwrite")
    with run_folder.folder_for_training(out, mode, can_resume=False) as folder:
        data = prepare(settings.data)
        say(training_text_warnings(data))
        check_ngrams_fit(len(data.train), settings.order, "take a smaller --order")
        started = time.monotonic()
        with waiting("counting n-grams"):
            trie = fit_kneser_ney(
                data.train,
                len(data.vocabulary),
                settings.order,
                eos_id=data.tokenizer.sentence_end,
                minimum_counts=settings.minimum_of_each_order,
            )
        write_ngrams(folder, SavedNgrams(settings, trie, data.tokenizer, data.texts))
        seconds = time.monotonic() - started
        if mode == "overwrite":
            run_folder.clear(folder, but=layout.MODEL_FILES)
        write_text(folder / layout.SETTINGS, yaml.safe_dump(as_sections(settings), sort_keys=False))
        texts = {"valid": data.valid, "test": data.test}
        scores = {split: Score(-float(trie.log_probabilities(ids).sum()), len(ids)) for split, ids in texts.items()}
        result = NgramResult(
            folder=folder,
            ngrams=trie.ngrams,
            bytes=(folder / layout.MODEL).stat().st_size,
            seconds=round(seconds, 2),
            **scores["valid"].figures("valid"),
            **scores["test"].figures("test"),
        )
        result.save()
    return result
