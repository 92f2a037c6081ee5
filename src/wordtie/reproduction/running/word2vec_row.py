"""A row that trains word vectors: word similarity, and whether two sets of vectors find the same words similar.

Tied vectors are compared with those of the row `input` of their table, an untied model of the same seed, as soon as its
run folder is there.
"""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import Any, cast

from wordtie.console import tell
from wordtie.data.prepare import prepare
from wordtie.errors import RunFolderError
from wordtie.reproduction.ledger import ledger
from wordtie.reproduction.ledger.entry import about, texts
from wordtie.reproduction.ledger.record import Entry, VectorEntry
from wordtie.reproduction.papers.row import Row, vector_settings
from wordtie.reproduction.running.measures import input_output_agreement, similarity
from wordtie.reproduction.running.place import Outcome, Place
from wordtie.runs.checkpoint import tensors_sha256
from wordtie.runs.provenance import machine, versions
from wordtie.runs.run_folder import read_model
from wordtie.vectors.agreement import agreement_of
from wordtie.vectors.extraction import vectors_of
from wordtie.word2vec.run import KIND, train_word2vec

UNTIED = "input"
"""Name, within its table, of the row whose model has two matrices."""
MEASURED_BESIDE = "agreement_with_untied"
"""Name of the measure that compares tied vectors with those of the untied model."""


def run_word2vec_row(row: Row, seed: int, place: Place) -> Outcome:
    """Train the row's vectors and enter their result, unless the ledger has it for these settings and this text.

    Training word vectors cannot be resumed, so it is not started with a time limit.
    Raises the same errors as `train_word2vec`.
    """
    computed = versions()  # before training: what is committed meanwhile did not train it
    settings = vector_settings(row, seed)
    data, folder = prepare(settings.data), place.folder(row, seed)
    entry = ledger.read_unless_again(ledger.entry_path(place.results, row.name, seed), place.again)
    if entry is not None and (ledger.is_stale(entry, row) or entry["data"] != texts(settings, data)):
        entry = None
    again = place.again and entry is not None and entry["code_version"] != computed["code_version"]
    if entry is not None and not again:
        if not _lacks_measures(entry, row, folder):
            return "already"
        content = cast(VectorEntry, entry)
    else:
        if not math.isinf(place.max_seconds):
            tell(f"{row.name}: word vectors are trained in one go: run it without --max-time")
            return "stopped"
        result = train_word2vec(settings.data, settings.word2vec, folder, mode="overwrite")
        trained = {
            **{name: computed[name] for name in ("code_version", "torch", "python")},
            "machine": machine(),
            "epochs": settings.word2vec.epochs,
            "seconds": result.seconds,
            "parameters": result.parameters,
            "weights_sha256": result.weights_sha256,
            "losses": [round(loss, 6) for loss in result.losses],
        }
        content = cast(VectorEntry, {**about(row, settings, data), **trained})
    content["measures"] = {**content.get("measures", {}), **_measures(folder, row)}
    ledger.write_entry(place.results, cast(Entry, content))
    return "done"


def _lacks_measures(entry: Entry, row: Row, folder: Path) -> bool:
    """Whether the entry lacks a measure that can now be computed from its own vectors."""
    measures = entry.get("measures", {})
    missing = {name for name in row.measures if not measures.get(name)}
    beside = measures.get(MEASURED_BESIDE)
    if MEASURED_BESIDE in row.measures:
        untied = _weights(_untied(folder))
        if beside and untied not in (None, beside["untied_weights_sha256"]):
            missing.add(MEASURED_BESIDE)
        elif untied is None:
            missing.discard(MEASURED_BESIDE)
    return bool(missing) and _weights(folder) == entry.get("weights_sha256")


def _measures(folder: Path, row: Row) -> dict[str, Any]:
    """Return the row's measures that can be computed here."""
    found: dict[str, Any] = {}
    if "similarity" in row.measures:
        found["similarity"] = similarity(folder)
    if "agreement" in row.measures:
        found["agreement"] = input_output_agreement(folder)
    if MEASURED_BESIDE in row.measures:
        found[MEASURED_BESIDE] = _agreement_with_untied(folder)
    return {name: measured for name, measured in found.items() if measured}


def _agreement_with_untied(folder: Path) -> dict[str, Any]:
    untied = _untied(folder)
    weights = _weights(untied)
    if weights is None:
        tell(f"agreement is not measured: it takes {untied}, which is not trained")
        return {}
    tied = vectors_of(folder)
    return {
        **{f"{side}~tied": {"rho": round(agreement_of(vectors_of(untied, side), tied).rho, 4)}
           for side in ("input", "output")},
        "untied_weights_sha256": weights,
    }  # fmt: skip


def _untied(folder: Path) -> Path:
    return folder.with_name(f"{UNTIED}.{folder.name.partition('.')[2]}")


def _weights(folder: Path) -> str | None:
    """Return the SHA-256 of the vectors in a run folder; None if there are none."""
    with contextlib.suppress(RunFolderError):
        return tensors_sha256(read_model(folder, KIND)[1])
    return None
