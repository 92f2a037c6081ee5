"""A corpus in, a run folder of kind `word2vec` out.

The matrices carry the names that a language model's have (`embedding.weight`, and `head.weight` where untied), so that
`wordtie.vectors.extraction` reads both alike. `counts` says how often the training text has each word.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from wordtie.config import DataSettings
from wordtie.config.keywords import changed_by_name, data_from, with_text
from wordtie.console import tell
from wordtie.data.batches import Ids
from wordtie.data.prepare import prepare
from wordtie.data.token_file import PreparedData
from wordtie.errors import DataError, require
from wordtie.runs import checkpoint, layout, run_folder
from wordtie.runs.result import RunResult
from wordtie.storage.atomic import write_text
from wordtie.word2vec.model import Word2Vec
from wordtie.word2vec.settings import Word2VecSettings, recipe, with_min_count
from wordtie.word2vec.training import fit

KIND = run_folder.WORD2VEC


@dataclass(frozen=True)
class Word2VecResult(RunResult):
    """The result of a run of word2vec."""

    losses: Sequence[float]
    """Nats per prediction in each epoch: the exact negative-sampling loss, while the vectors moved."""
    predictions: int
    """Predictions in the last epoch: pairs for skip-gram, words for CBOW."""
    words_read: int
    """Words of the training text that were read over all epochs, `<eos>` and `<unk>` included."""
    vocabulary: int
    """Words that were trained."""
    parameters: int
    seconds: float
    weights_sha256: str


def train_word2vec(
    data_settings: DataSettings, settings: Word2VecSettings, out: str | Path, mode: run_folder.Mode = "new"
) -> Word2VecResult:
    """Train and write the run folder. A `data.min_count` of None is 5 here.

    `mode` is `new` or `overwrite`: word2vec cannot resume. Raises `RunFolderError` if a run is there already and `mode`
    is `new`, `DataError` for a text that cannot be used, `DivergedError` if the vectors stop being numbers.
    """
    require(mode != "resume", "word2vec cannot resume: train again with mode overwrite")
    data_settings = with_min_count(data_settings)
    with run_folder.folder_for_training(out, mode, can_resume=False) as folder:
        data = prepare(data_settings)
        model = Word2Vec(settings, trained_counts(data.train, data))
        started = time.monotonic()
        losses = fit(model, data.train, data.vocabulary.eos_id, _Lines(settings.epochs, len(data.train)))
        if not losses[-1][1]:
            raise DataError(
                f"{data_settings.corpus}: nothing was predicted: too few words were left beside each other by "
                f"data.min_count {data_settings.min_count} and word2vec.sample {settings.sample}"
            )
        tensors = model.tensors()
        result = Word2VecResult(
            folder=folder,
            losses=[nats / max(predictions, 1) for nats, predictions in losses],
            predictions=losses[-1][1],
            words_read=settings.epochs * len(data.train),
            vocabulary=int(np.count_nonzero(model.count_V)),
            parameters=model.parameter_count(),
            seconds=round(time.monotonic() - started, 1),
            weights_sha256=checkpoint.tensors_sha256(tensors),
        )
        kept = recipe(data_settings, settings)
        config = {"words": len(data.vocabulary), "settings": kept, "texts": data.texts}
        run_folder.write_model(folder, KIND, config, tensors, data.tokenizer)
        if mode == "overwrite":
            run_folder.clear(folder, but=layout.MODEL_FILES)
        write_text(folder / layout.SETTINGS, yaml.safe_dump(kept, sort_keys=False))
        result.save()
    return result


def train(
    text: DataSettings | str | Path, out: str | Path, mode: run_folder.Mode = "new", **named: Any
) -> Word2VecResult:
    """Train word vectors of a text, by its name or path, in the folder `out`.

    Keyword arguments change single settings, by the names that `wordtie word2vec` takes:
    `train("novel.txt", "runs/novel-word2vec", vector_size=100)`. `mode` and errors are those of `train_word2vec`;
    raises `SettingsError` for other names and for values that make no sense.
    """
    data = data_from(text)
    named = named if isinstance(text, DataSettings) else with_text(data, named)
    made = changed_by_name({"data": data, "word2vec": Word2VecSettings()}, named)
    return train_word2vec(made["data"], made["word2vec"], out, mode)


def trained_counts(ids_N: Ids, data: PreparedData) -> NDArray[np.int64]:
    """Count how often each word occurs, (V,); 0 for `<unk>` and `<eos>`, which gensim's texts do not have either."""
    words, chunk = len(data.vocabulary), 1 << 20
    count_V = np.zeros(words, np.int64)
    for start in range(0, len(ids_N), chunk):
        count_V += np.bincount(ids_N[start : start + chunk], minlength=words)
    count_V[[data.vocabulary.unk_id, data.vocabulary.eos_id]] = 0
    return count_V


class _Lines:
    """Progress on stderr: a live line on a terminal, one line an epoch elsewhere."""

    def __init__(self, epochs: int, words: int) -> None:
        self.epochs, self.words = epochs, words
        self.started = time.monotonic()

    def __call__(self, epoch: int, done: int, nats: float, predictions: int) -> None:
        rate = ((epoch - 1) * self.words + done) / max(time.monotonic() - self.started, 1e-9)
        live = sys.stderr.isatty() and done < self.words
        if live or done == self.words:
            share = f"{100 * done / self.words:3.0f} %" if live else ""
            line = f"epoch {epoch}/{self.epochs} {share} loss {nats / max(predictions, 1):.4f}  {rate:,.0f} words/s  "
            tell(line, end="\r" if live else "\n")
