"""The text that a model was trained with, as ids: the very same, or an error.

A run folder keeps the SHA-256 of its texts and no text: what lies where they lay may have changed since. Ids of another
vocabulary, or counts of another text, give numbers that look like any others.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wordtie.config.paths import is_arpa
from wordtie.data.corpus import SPLITS
from wordtie.data.prepare import prepare
from wordtie.data.token_file import PreparedData
from wordtie.errors import DataError, RunFolderError

if TYPE_CHECKING:
    from wordtie.inference.loading import LoadedModel


def training_corpus(
    model: LoadedModel,
    run: str | Path,
    splits: Sequence[str] = SPLITS,
    hint: str = "restore the text from a copy, or train again",
) -> PreparedData:
    """The text of the model in the folder `run`; `splits` are those that are going to be read.

    Raises `RunFolderError` where its words or one of these splits are no longer what they were, `DataError` where it
    cannot be read. `hint` tells the user what to do about either.
    """
    if is_arpa(run):
        raise RunFolderError(f"{run}: an ARPA file does not say what text it is of: {hint}")
    try:
        data = prepare(model.settings.data)
    except DataError as error:
        raise DataError(f"{error}; {run} was trained on it: {hint}") from error
    if not is_of(model, data, splits):
        text = f"{model.settings.data.corpus}, or how it is cut into words,"
        raise RunFolderError(f"{run}: {text} has changed since training; {hint}")
    return data


def is_of(model: LoadedModel, data: PreparedData, splits: Sequence[str] = SPLITS) -> bool:
    """Whether the model was trained with these words and these texts, as far as its folder says.

    Another version may cut the same text into others.
    """
    same = (model.texts.get(split, data.texts[split]) == data.texts[split] for split in splits)
    return model.tokenizer == data.tokenizer and all(same)
