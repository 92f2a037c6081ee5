"""A checkpoint of another program in, a run folder out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import yaml
from torch import Tensor

from wordtie.checkpoints.network import ImportedNetwork, read_network
from wordtie.checkpoints.torch_file import open_torch_file
from wordtie.checkpoints.words import Kind, WordList, read_words
from wordtie.config import DataSettings, LossSettings, ModelSettings, Settings, to_dict
from wordtie.config.data import TEXT_OF_IMPORTED
from wordtie.config.paths import path_of
from wordtie.data.tokenisation import Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import UNK, Vocabulary
from wordtie.errors import DataError, require
from wordtie.models.language_model import UNTRAINED_BIAS, WORD_MATRICES
from wordtie.runs import layout, run_folder
from wordtie.runs.result import RunResult
from wordtie.storage.atomic import file_sha256, write_text


@dataclass(frozen=True)
class ImportResult(RunResult):
    """A model that another program trained, and where it is now."""

    checkpoint: str
    sha256: str
    """SHA-256 of the checkpoint."""
    kind: str | None
    """The program that trained it; None if the files do not say."""
    core: str
    head: str
    layers: int
    hidden: int
    embedding: int
    words: int
    parameters: int
    notes: Sequence[str]
    """Notes for someone who scores texts with the model."""


def import_checkpoint(
    checkpoint: str | Path,
    vocabulary: str | Path,
    out: str | Path,
    kind: Kind | None = None,
    lowercase: bool = False,
    sentences: bool = True,
    mode: run_folder.Mode = "new",
) -> ImportResult:
    """Make a run folder of an LSTM, GRU or RNN of colorlessgreenRNNs, neural-complexity or PyTorch's
    word_language_model.

    `vocabulary` is the file of its words, or the folder of texts that word_language_model took them from. `lowercase`:
    texts are put in lower case before their words are looked up. `sentences`: each line of a text is a sentence, and
    `<eos>` follows it; False if the texts have `<eos>` already. Raises `DataError` for files that cannot be used, and
    `RunFolderError` if a run is there already and `mode` is not `overwrite`.
    """
    require(mode != "resume", "a checkpoint is imported in one go: use mode overwrite")
    source, words_at = path_of(checkpoint), path_of(vocabulary)
    with run_folder.folder_for_training(out, mode, can_resume=False) as folder:
        words = read_words(words_at, kind)
        with open_torch_file(source) as file:
            network = read_network(file)
        sha256 = file_sha256(source)
        rows = len(network.tensors[WORD_MATRICES[0]])
        if rows != len(words.words):
            raise DataError(
                f"{words_at}: has {len(words.words):,} words, and {source} has {rows:,}: "
                "take the vocabulary of this checkpoint"
            )
        notes = _notes(words)
        network, known = with_unk(network, words.words)
        data = DataSettings(
            f"{TEXT_OF_IMPORTED} {source.name}", tokenisation="space", lowercase=lowercase, sentences=sentences
        )
        settings = Settings(data=data, model=network.settings, loss=LossSettings(kind="cross_entropy"))
        tokenizer = Tokenizer(Tokenisation("space", lowercase=lowercase, sentences=sentences), Vocabulary(known))
        imported = {"program": words.kind, "checkpoint": {source.name: sha256}, "vocabulary": words.files}
        saved = run_folder.SavedModel(settings, network.tensors, tokenizer, imported=imported)
        run_folder.write_language_model(folder, saved)
        if mode == "overwrite":
            run_folder.clear(folder, but=layout.MODEL_FILES)
        write_text(folder / layout.SETTINGS, yaml.safe_dump(to_dict(settings), sort_keys=False))
        result = _result(folder, source, sha256, words, network, notes)
        result.save()
    return result


def with_unk(network: ImportedNetwork, words: Sequence[str]) -> tuple[ImportedNetwork, list[str]]:
    """Return the network and its words, with a row for `<unk>` if they have none.

    The row is zero and its bias so low that the other words' probabilities stay what they are.
    """
    if UNK in words:
        return network, list(words)
    tensors = dict(network.tensors)
    for name in WORD_MATRICES:
        if name in tensors:
            tensors[name] = _with_row(tensors[name], 0.0)
    bias_V = network.tensors.get("head.bias", torch.zeros(len(words)))
    tensors["head.bias"] = _with_row(bias_V, UNTRAINED_BIAS)
    return ImportedNetwork(replace(network.settings, output_bias=True), tensors), [*words, UNK]


def _with_row(tensor: Tensor, value: float) -> Tensor:
    return torch.cat([tensor, tensor.new_full((1, *tensor.shape[1:]), value)])


def _notes(words: WordList) -> list[str]:
    notes = []
    if UNK not in words.words:
        notes.append(f"the model has no {UNK}: a word that it does not know gets probability 0; leave such words out")
    if "<num>" in words.words:
        notes.append("the vocabulary has <num>: write numbers as <num> in your texts, as its program may have done")
    return notes


def _result(
    folder: Path, source: Path, sha256: str, words: WordList, network: ImportedNetwork, notes: Sequence[str]
) -> ImportResult:
    settings: ModelSettings = network.settings
    return ImportResult(
        folder=folder,
        checkpoint=str(source),
        sha256=sha256,
        kind=words.kind,
        core=settings.core,
        head=settings.head,
        layers=settings.layers,
        hidden=settings.hidden,
        embedding=settings.embedding_size,
        words=len(network.tensors[WORD_MATRICES[0]]),
        parameters=sum(tensor.numel() for tensor in network.tensors.values()),
        notes=notes,
    )
