"""The text that a model was trained with, as ids: the very same, or an error.

A run folder keeps the SHA-256 of its texts, but not the texts: the files may have changed since. Ids of another
vocabulary, or counts of another text, would give wrong numbers that look plausible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wordtie.config.data import TEXT_OF_IMPORTED
from wordtie.config.paths import is_arpa, path_of
from wordtie.data.corpus import SPLITS
from wordtie.data.prepare import prepare
from wordtie.data.token_file import PreparedData
from wordtie.errors import DataError, RunFolderError
from wordtie.runs.ready import is_ready

if TYPE_CHECKING:
    from wordtie.inference.loading import LoadedModel


def training_corpus(
    model: LoadedModel,
    run: str | Path,
    splits: Sequence[str] = SPLITS,
    hint: str = "restore the text from a copy, or train again",
    download: bool = False,
) -> PreparedData:
    """Return the corpus that the model in the folder `run` was trained on; `splits` are those that will be read.

    Raises `RunFolderError` if its vocabulary or one of these splits has changed, or for an ARPA file; `DataError` if it
    cannot be read. `hint` tells the user what to do in either case. `download`: get a named corpus that is not on this
    machine, if the user asked for the text itself.
    """
    if is_arpa(run):
        raise RunFolderError(f"{run}: an ARPA file does not say what text it is of: {hint}")
    if model.settings.data.corpus.startswith(TEXT_OF_IMPORTED):
        raise DataError(f"{run}: an imported model comes without its training text: {hint}")
    try:
        data = prepare(model.settings.data, download, model.tokenizer.tokenisation)
    except (DataError, RunFolderError) as error:  # the latter of a run that it extends
        if is_ready(run):
            raise DataError(f"{run} comes without its training text: {hint}") from error
        from wordtie.data.catalogue import CATALOGUE

        corpus = model.settings.data.corpus
        known = corpus in CATALOGUE or path_of(corpus).is_absolute()
        where = "" if known else ", by its path from the folder that training ran in"
        raise DataError(f"{error}; {run} was trained on it{where}: {hint}") from error
    if not is_of(model, data, splits):
        text = f"{model.settings.data.corpus}, or how it is cut into words,"
        raise RunFolderError(f"{run}: {text} has changed since training; {hint}")
    return data


def with_extended(model: LoadedModel, data: PreparedData, hint: str) -> PreparedData:
    """The text of a model, whose training text also has those of the models that it extends.

    Raises `DataError` if one of these cannot be read, or has changed. `hint` tells the user what to do about it.
    """
    if model.settings.data.extends is None:
        return data

    from wordtie.training.rehearsal import read_texts

    texts = read_texts(model.settings.data, download=False)
    if texts.missing:
        raise DataError(f"{texts.missing[0]}; {model.folder} extends it: {hint}")
    return texts.for_counting()


def of_other_texts(models: Mapping[str, LoadedModel], split: str, sha256: str, advice: str) -> list[str]:
    """Return a note for each model, by the name of its folder, whose text of this split is not the one of this SHA-256.

    Another cut of the same text may have trained it on what is measured.
    """
    first = next(iter(models))
    text = {"valid": "validation", "test": "test"}[split]
    return [
        f"{name}: has another {text} text than {first}, and may have been trained on what it is measured on: {advice}"
        for name, model in models.items()
        if model.texts.get(split, sha256) != sha256
    ]


def is_of(model: LoadedModel, data: PreparedData, splits: Sequence[str] = SPLITS) -> bool:
    """Return whether the model was trained with these words and these texts, as far as its folder says.

    Another version may split the same text into other words.
    """
    same = (model.texts.get(split, data.texts[split]) == data.texts[split] for split in splits)
    return model.tokenizer == data.tokenizer and all(same)
