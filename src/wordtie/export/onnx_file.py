"""Write a model as an ONNX file that programs without wordtie and torch can use: the graph, with its words.

OUT.onnx                   the network (`wordtie.export.onnx_graph`); words, and how text is split, in its metadata
OUT.ngrams.safetensors     for a network that n-grams are mixed into: the n-grams (`wordtie.ngrams.trie_file`)

Metadata are texts. In both forms: `vocab_size`, `sos_id`, `eos_id`, `unk_id`, `words` (by id, one per line). In the
step form also: `pattern`, a regular expression that finds the words of a text; `lowercase` and `composed`, whether text
is put in lower case and in the Unicode form NFC before that; `sentences`, whether each line is one and ends in `<eos>`;
`replaced`, what is replaced, in JSON; `weights`, of network and n-grams, by how many of the last words the n-grams have
seen together, in JSON.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from wordtie.config.paths import path_of
from wordtie.errors import RunFolderError, SaveError
from wordtie.export.onnx_graph import nll_model, step_model
from wordtie.inference.loading import LoadedModel, load
from wordtie.models.mixture import Mixture
from wordtie.models.numpy_network import NumpyNetwork
from wordtie.models.recent_words import AdaptiveMixture
from wordtie.ngrams.model import NgramModel
from wordtie.ngrams.trie_file import write_trie
from wordtie.runs.layout import MANIFEST
from wordtie.storage.atomic import check_new, replace_files, saving

Form: TypeAlias = Literal["step", "nll"]
NGRAMS = ".ngrams.safetensors"


@dataclass(frozen=True)
class OnnxExport:
    """What was written."""

    files: tuple[Path, ...]
    """Files that were written, the graph first."""
    bytes: int
    """Size of the graph in bytes."""
    parameters: int
    left_out: tuple[str, ...]
    """Parts of a mixture that are not in the files."""


def write_onnx(
    run: str | Path, out: str | Path, form: Form = "step", eight_bits: bool = False, overwrite: bool = False
) -> OnnxExport:
    """Export the network of a run folder; in the step form also n-grams that are mixed into it.

    Raises `RunFolderError` for a run without a network, or with several; `SaveError` if `out` exists and `overwrite`
    is not given, or if a file cannot be written.
    """
    graph_file = path_of(out)
    model = load(run, without_torch=True)
    network = _network(model)
    ngrams, left_out = _ngrams(model, form)
    ngram_file = graph_file.with_name(f"{graph_file.name.removesuffix('.onnx')}{NGRAMS}")
    for file in (graph_file, ngram_file):
        _check_free(file, overwrite)
    words = model.tokenizer.vocabulary
    if form == "nll":
        graph = nll_model(
            network.settings, network.parameters, words.eos_id, eight_bits, sentences=model.tokenizer.sentences
        )
    else:
        graph = step_model(network.settings, network.parameters, eight_bits)
    metadata = _metadata(model, form)
    if ngrams is not None:
        mixture = model.model
        assert isinstance(mixture, Mixture)
        order = [mixture.parts.index(network), mixture.parts.index(ngrams)]
        metadata["weights"] = json.dumps(mixture.weights_RP[:, order].tolist())
    for name, text in metadata.items():
        graph.metadata_props.add(key=name, value=text)
    content = graph.SerializeToString()
    files = (graph_file,) if ngrams is None else (graph_file, ngram_file)
    with saving(graph_file):
        graph_file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".export-", dir=graph_file.parent) as place:
            stage = Path(place)
            (stage / graph_file.name).write_bytes(content)
            if ngrams is not None:
                write_trie(ngrams.trie, stage / ngram_file.name)
            replace_files(stage, graph_file.parent, [file.name for file in reversed(files)])
        if ngrams is None:
            ngram_file.unlink(missing_ok=True)  # of an earlier export, and not of this network
    return OnnxExport(files, len(content), network.parameter_count(), left_out)


def _network(model: LoadedModel) -> NumpyNetwork:
    parts = model.model.parts if isinstance(model.model, Mixture) else (model.model,)
    networks = [part for part in parts if isinstance(part, NumpyNetwork)]
    if len(networks) != 1:
        what = "several networks" if networks else "no network"
        raise RunFolderError(f"{model.folder}: holds {what}, and one is exported: take the run of a language model")
    return networks[0]


def _ngrams(model: LoadedModel, form: Form) -> tuple[NgramModel | None, tuple[str, ...]]:
    """Return (the n-grams that are written with the step form, what is left out)."""
    mixture = model.model
    if not isinstance(mixture, Mixture):
        return None, ()
    recent = ("recent words",) if isinstance(mixture, AdaptiveMixture) else ()
    ngrams = [part for part in mixture.parts if isinstance(part, NgramModel)]
    if form == "step" and len(ngrams) == 1:
        return ngrams[0], recent
    return None, ("n-grams", *recent)


def _metadata(model: LoadedModel, form: Form) -> dict[str, str]:
    tokenisation, vocabulary = model.tokenizer.tokenisation, model.tokenizer.vocabulary
    both = {
        "model_type": "rnnlm" if form == "nll" else "wordtie-step",
        "version": "1",
        "comment": "word-level language model, exported by wordtie",
        "vocab_size": str(len(vocabulary)),
        "sos_id": str(vocabulary.eos_id),
        "eos_id": str(vocabulary.eos_id),
        "unk_id": str(vocabulary.unk_id),
        "words": "\n".join(vocabulary.words),
    }
    if form == "nll":
        return both
    of_text: Mapping[str, str] = {
        "pattern": tokenisation.pattern,
        "lowercase": str(int(tokenisation.lowercase)),
        "sentences": str(int(tokenisation.sentences)),
        "composed": str(int(bool(tokenisation.composed))),
        "replaced": json.dumps(tokenisation.replaced or ()),
    }
    return {**both, **of_text}


def _check_free(file: Path, overwrite: bool) -> None:
    if file.is_dir():
        what = "is a run folder" if (file / MANIFEST).exists() else "is a folder"
        raise SaveError(f"{file}: {what}: give the name of a file, say {file / 'model.onnx'}")
    check_new(file, overwrite)
