"""An n-gram model in its run folder: config, n-grams, tokenizer and seal, as for every model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from wordtie.config import DataSettings, plain_values
from wordtie.config.ngram import NgramSettings
from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import RunFolderError, SettingsError
from wordtie.ngrams.trie import NgramTrie
from wordtie.ngrams.trie_file import trie_from_bytes, write_trie
from wordtie.runs.layout import CONFIG, MODEL
from wordtie.runs.run_folder import NGRAM, StoredModel, trained_config, write_sealed


@dataclass(frozen=True)
class SavedNgrams:
    """An n-gram model as stored in its run folder."""

    settings: NgramSettings
    trie: NgramTrie
    tokenizer: Tokenizer
    texts: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each split's text."""


def write_ngrams(folder: Path, model: SavedNgrams) -> None:
    """Write the model and its seal. Raises `SaveError`."""
    words = len(model.tokenizer.vocabulary)
    config = {"words": words, "settings": as_sections(model.settings), "texts": dict(model.texts)}
    write_sealed(folder, NGRAM, config, partial(write_trie, model.trie), model.tokenizer)


def understand_ngrams(stored: StoredModel) -> SavedNgrams:
    """Read an opened n-gram model, which stays mapped into memory. Raises `RunFolderError`."""
    config = trained_config(stored)
    try:
        sections = config["settings"]
        data = {**sections["data"], "split": tuple(sections["data"]["split"])}
        ngram = {**sections["ngram"], "minimum_counts": tuple(sections["ngram"]["minimum_counts"])}
        settings = NgramSettings(DataSettings(**data), **ngram)
    except (SettingsError, KeyError, TypeError) as error:
        raise RunFolderError(f"{stored.folder / CONFIG}: {error}: update wordtie") from error
    try:
        trie = trie_from_bytes(stored.content)
        expected = len(stored.tokenizer.vocabulary), stored.tokenizer.sentence_end
        if (trie.vocabulary_size, trie.eos_id) != expected:
            raise ValueError("is of another vocabulary")
    except (ValueError, KeyError, TypeError, IndexError) as error:
        what = f"does not fit config.json ({' '.join(str(error).split())})"
        raise RunFolderError(f"{stored.folder / MODEL}: {what}: restore both from a copy") from error
    return SavedNgrams(settings, trie, stored.tokenizer, config.get("texts", {}))


def as_sections(settings: NgramSettings) -> dict[str, dict[str, Any]]:
    """Return the sections `data` and `ngram` as plain values, as `config.json` and `settings.yaml` hold them."""
    values = plain_values(settings)
    return {"data": plain_values(settings.data), "ngram": {name: values[name] for name in values if name != "data"}}
