"""A translation model in its run folder: config, parameters, tokenizers and seal, as for every model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from wordtie.config import TranslationSettings, settings_from_dict, to_dict
from wordtie.data.bitext import Bitext
from wordtie.data.subwords import SubwordPair
from wordtie.errors import RunFolderError, SettingsError
from wordtie.models.seq2seq import Seq2Seq
from wordtie.runs.layout import CONFIG, TOKENIZER
from wordtie.runs.parameters import Shape, shapes
from wordtie.runs.run_folder import (
    TRANSLATION,
    check_fits,
    open_sealed,
    read_tensors,
    sound,
    trained_config,
    write_model,
)


@dataclass(frozen=True)
class SavedTranslation:
    """A translation model as stored in its run folder."""

    settings: TranslationSettings
    tensors: dict[str, Tensor]
    """Parameters by name, a shared matrix once."""
    tokenizer: SubwordPair
    tokenised: bool
    """Whether white space separates the tokens of its text, which decides how BLEU is computed."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the pairs of each split."""


def write_translation(folder: Path, model: SavedTranslation) -> None:
    """Write the model and its seal. Raises `SaveError`."""
    config = {
        "words": len(model.tokenizer.target.vocabulary),
        "source_words": len(model.tokenizer.source.vocabulary),
        "tokenised": model.tokenised,
        "settings": to_dict(model.settings),
        "texts": dict(model.texts),
    }
    write_model(folder, TRANSLATION, config, model.tensors, model.tokenizer)


def read_translation(folder: Path) -> SavedTranslation:
    """Read the translation model of a run folder. Raises `RunFolderError`."""
    stored = open_sealed(folder, TRANSLATION)
    config, tensors = trained_config(stored), read_tensors(stored)
    try:
        settings = settings_from_dict(config["settings"], TranslationSettings)
    except SettingsError as error:
        raise RunFolderError(f"{folder / CONFIG}: {error}: update wordtie, or restore it from a copy") from error
    with sound(folder / TOKENIZER):
        tokenizer = SubwordPair.from_bytes(stored.tokenizer_file)
    sizes = [len(side.vocabulary) for side in (tokenizer.source, tokenizer.target)]
    given: Mapping[str, Any] = config
    with sound(folder / CONFIG):
        if [given.get("source_words"), given["words"]] != sizes or not isinstance(given.get("tokenised"), bool):
            raise ValueError(f"does not fit {TOKENIZER}, which has {sizes[0]} and {sizes[1]} words")
    try:
        tokenizer.check_steps(settings.data, "space" if given["tokenised"] else "words")
    except ValueError as error:
        hint = "restore it from a copy; if an earlier version of wordtie wrote it, train again"
        raise RunFolderError(f"{folder / TOKENIZER}: damaged ({error}): {hint}") from error
    check_fits(folder, tensors, lambda: _shapes(settings, *sizes))
    return SavedTranslation(settings, tensors, tokenizer, given["tokenised"], config.get("texts", {}))


def _shapes(settings: TranslationSettings, source_words: int, target_words: int) -> dict[str, Shape]:
    """Return shape and dtype of each parameter. Raises `ValueError` if there is no such model."""
    try:
        with torch.device("meta"):
            return shapes(Seq2Seq(settings.model, source_words, target_words).state_dict())
    except (RuntimeError, TypeError, OverflowError, MemoryError) as error:
        raise ValueError("the model settings describe a model that is too large to build") from error


def build(model: SavedTranslation) -> Seq2Seq:
    """Build the network, in evaluation mode."""
    sizes = [len(side.vocabulary) for side in (model.tokenizer.source, model.tokenizer.target)]
    with torch.device("meta"):
        network = Seq2Seq(model.settings.model, *sizes)
    network.load_state_dict(model.tensors, assign=True)
    network.requires_grad_(False)
    return network.use(fused=True).eval()


def translation_identity(settings: TranslationSettings, data: Bitext) -> dict[str, Any]:
    """Return what a checkpoint records about its run: settings, texts, and the SHA-256 of the subwords made of them."""
    made = [data.tokenizer.source.json, data.tokenizer.target.json, len(data.train), data.train.target_tokens]
    words = hashlib.sha256(json.dumps(made).encode()).hexdigest()
    return {"settings": to_dict(settings), "texts": data.texts, "words": words}
