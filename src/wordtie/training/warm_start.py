"""A later stage of training: start from a finished run's weights, with the schedule from its beginning.

Inan, Khosravi & Socher (2017), footnote 4, train their small models in two such stages. With `data.extends` the second
stage reads another text, and has the words of both.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from wordtie.config import Settings
from wordtie.data.token_file import PreparedData
from wordtie.errors import DataError, RunFolderError
from wordtie.models.language_model import LanguageModel
from wordtie.noise.noisy_forward import build_noise
from wordtie.runs import checkpoint
from wordtie.runs.compatibility import changed
from wordtie.runs.ready import run_path
from wordtie.runs.run_folder import SavedModel
from wordtie.training.rehearsal import read_starting_model, read_texts, sizes
from wordtie.training.task import Tensors
from wordtie.training.vocabulary_extension import extend, lacks_unk


def read_start(settings: Settings) -> SavedModel | None:
    """Read the model that `training.start_from` names; None if it names none. Its model settings must be the same.

    Raises `RunFolderError` if there is no complete run folder of such a model.
    """
    if settings.training.start_from is None:
        return None
    folder = run_path(settings.training.start_from)
    saved = read_starting_model(folder)
    with torch.device("meta"):
        model = LanguageModel(settings.model, len(saved.tokenizer.vocabulary))
    try:
        model.load_state_dict(saved.tensors, assign=True)
    except RuntimeError as error:
        other = ", ".join(changed(sizes(saved.settings.model), sizes(settings.model)))
        raise RunFolderError(
            f"{folder}: training.start_from holds a model of other model settings, {other}: "
            "give those of that run, or leave them out"
        ) from error
    return saved


def check_words_of(saved: SavedModel, settings: Settings, data: PreparedData) -> None:
    """Raise `RunFolderError` if the text has other words than the model to start from, or if its words are extended, if
    it lacks some of them."""
    old, new = saved.tokenizer.vocabulary.words, data.vocabulary.words
    if old != (new if settings.data.extends is None else new[: len(old)]):
        raise RunFolderError(
            f"{settings.training.start_from}: training.start_from has another vocabulary than {settings.data.corpus}: "
            "start from a run on the same text, or give --extend-vocabulary"
        )


def load_start(saved: SavedModel, settings: Settings, model: LanguageModel, data: PreparedData) -> str:
    """Load the weights of an earlier run into the model; return the SHA-256 of that run's export.

    A run whose own export will be a mean, or that draws word vectors, starts from the vectors that the earlier run
    trained; any other starts from what that run exported. Raises `RunFolderError` if the earlier run has another
    vocabulary, or was exported as a mean that cannot be undone.
    """
    tensors, before, noise = saved.tensors, saved.settings.noise, settings.noise
    exported = checkpoint.tensors_sha256(tensors)
    check_words_of(saved, settings, data)
    old, new = saved.tokenizer.vocabulary.words, data.vocabulary.words
    if before.predicts_with == "mean" and (noise.smooths or noise.predicts_with == "mean"):
        tensors = _before_the_mean(saved, run_path(settings.training.start_from or ""))
    if len(new) > len(old) or lacks_unk(tensors, new):
        count_V = torch.from_numpy(np.bincount(data.train, minlength=len(new)))
        tensors = extend(tensors, new, count_V, settings.training.new_words)
    model.load_state_dict(tensors)
    model.constrain()
    return exported


def _before_the_mean(saved: SavedModel, folder: Path) -> Tensors:
    """Recover the parameters that a run trained from the means that it exported, by its own noise and text."""
    try:
        texts = read_texts(saved.settings.data)
        if texts.missing:
            raise DataError("; ".join(texts.missing))
        data = texts.for_training(saved.settings.training.rehearsal)
        counted = data.texts.keys() - {"valid", "test"}
        if data.tokenizer != saved.tokenizer or any(data.texts[split] != saved.texts.get(split) for split in counted):
            raise DataError(f"{saved.settings.data.corpus} has changed since {folder} was trained")
        return build_noise(saved.settings.noise, data, torch.device("cpu")).for_training(saved.tensors)
    except (DataError, ValueError) as error:
        raise RunFolderError(
            f"{folder}: training.start_from was exported as the mean of its noise, which cannot be undone ({error}): "
            "start with --noise.kind none, or from another run"
        ) from error
