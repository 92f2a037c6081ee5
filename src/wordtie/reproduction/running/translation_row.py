"""A row that trains a translation model: BLEU with signature and interval, and which subwords the languages share.

A model that is compared with a baseline is tested against it by paired bootstrap resampling (Koehn 2004), on the same
test sentences, as soon as the baseline's run folder is there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from pathlib import Path
from typing import Any

from wordtie.config import TranslationSettings
from wordtie.data.bitext import Bitext, read_bitext
from wordtie.data.subword_overlap import overlap
from wordtie.errors import RunFolderError
from wordtie.evaluation.bleu import paired_bootstrap, tokenizer_of
from wordtie.inference.translation import load_translation
from wordtie.reproduction.ledger import ledger
from wordtie.reproduction.ledger.entry import about, stage_entry, texts
from wordtie.reproduction.ledger.record import Entry, entry_of
from wordtie.reproduction.papers.row import Row, baseline_of, translation_settings
from wordtie.reproduction.running.existing_run import check_not_longer
from wordtie.reproduction.running.place import Outcome, Place
from wordtie.runs import checkpoint
from wordtie.runs.checkpoint import tensors_sha256
from wordtie.runs.layout import CHECKPOINT, MANIFEST, MODEL, RESULT
from wordtie.runs.provenance import invocations, versions
from wordtie.runs.record import read_record
from wordtie.runs.result import TrainingResult, read_result
from wordtie.runs.run_folder import Mode
from wordtie.runs.translation_run import read_translation
from wordtie.training.translation import train_translation


def run_translation_row(row: Row, seed: int, place: Place) -> Outcome:
    """Train the row's model and enter its result, unless the ledger has it for these settings and this text.

    Raises the same errors as `train_translation`.
    """
    settings = translation_settings(row, seed)
    data, folder = read_bitext(settings.data), place.folder(row, seed)
    version = {versions()["code_version"]}
    entry = ledger.read_unless_again(ledger.entry_path(place.results, row.name, seed), place.again)
    if entry is not None:
        of_this_row = not ledger.is_stale(entry, row) and entry["data"] == texts(settings, data)
        again = place.again and set(ledger.ever(entry, "code_version")) != version
        if of_this_row and not again and _is_compared(entry, row, seed, place):
            return "already"
    begun = {call["code_version"] for call in invocations(folder)}
    if place.again and begun and begun != version:
        result = _trained(settings, folder, place, "overwrite")
    else:
        try:
            result = _finished(folder, settings, data) or _resumed(settings, folder, place)
        except RunFolderError:  # damaged, or of other settings
            if not place.again:
                raise
            result = _trained(settings, folder, place, "overwrite")
    if result.stopped == "max_time":
        return "stopped"
    content = entry_of(about(row, settings, data), stage_entry(result, folder))
    content["measures"] = measures(row, seed, place, data, result)
    ledger.write_entry(place.results, content)
    return "done"


def _trained(settings: TranslationSettings, folder: Path, place: Place, mode: Mode) -> TrainingResult:
    limit = None if math.isinf(place.max_seconds) else f"{max(0.01, place.max_seconds):.2f}s"
    limited = dataclasses.replace(settings.training, threads=place.threads, max_time=limit)
    return train_translation(dataclasses.replace(settings, training=limited), folder, mode)


def _resumed(settings: TranslationSettings, folder: Path, place: Place) -> TrainingResult:
    """Continue the run in the folder, or begin it.

    Raises `RunFolderError` for one that went on beyond the epochs or the patience of these settings.
    """
    if (path := folder / CHECKPOINT).exists():
        _, record = checkpoint.load(path)
        with checkpoint.wrap_record_errors(path):
            position, _ = read_record(record)
        check_not_longer(folder, position, settings.training)
    return _trained(settings, folder, place, "resume")


def _finished(folder: Path, settings: TranslationSettings, data: Bitext) -> TrainingResult | None:
    """Return the result of the run in the folder, if it has finished and has these settings and texts.

    Raises `RunFolderError` if it was measured on other weights than the folder has.
    """
    result = _result(folder)
    if result is None:
        return None
    saved = read_translation(folder)
    if ledger.configuration(saved.settings) != ledger.configuration(settings) or dict(saved.texts) != data.texts:
        return None
    if tensors_sha256(saved.tensors) != result.weights_sha256:
        raise RunFolderError(f"{folder / RESULT}: measured on other weights than {folder / MODEL}: move it away")
    return result


def _result(folder: Path) -> TrainingResult | None:
    result = read_result(folder)
    return None if result is None or result.stopped == "max_time" else result


def _is_compared(entry: Entry, row: Row, seed: int, place: Place) -> bool:
    """Whether the entry is compared with the present baseline, or cannot be."""
    baseline = _baseline_folder(row, seed, place)
    if baseline is None or _result(place.folder(row, seed)) is None:
        return True
    compared, here = entry["measures"].get("paired"), _result(baseline)
    return compared is not None and here is not None and compared.get("baseline_weights_sha256") == here.weights_sha256


def measures(row: Row, seed: int, place: Place, data: Bitext, result: TrainingResult) -> dict[str, Any]:
    """Return the measures of a translation row besides perplexity."""
    scores, shared = result.translation or {}, overlap(data)
    found: dict[str, Any] = {
        "bleu": {"valid BLEU": scores["valid_bleu"], "test BLEU": scores["test_bleu"]},
        "translation": scores,
        "subwords": {"source only": shared.source_only, "target only": shared.target_only, "both": shared.both},
        "pairs": {split: len(getattr(data, split)) for split in ("train", "valid", "test")},
    }
    with contextlib.suppress(RunFolderError):  # the baseline is not here yet, or was moved away
        if baseline := _baseline_folder(row, seed, place):
            found["paired"] = paired(result.folder, baseline, data, scores["beam"])
    return found


def _baseline_folder(row: Row, seed: int, place: Place) -> Path | None:
    name = baseline_of(row.name)
    folder = place.runs / f"{name}.seed-{seed}"
    return folder if name and (folder / MANIFEST).exists() and _result(folder) else None


def paired(folder: Path, baseline: Path, data: Bitext, beam: int) -> dict[str, Any]:
    """Run the paired bootstrap test of a model against the baseline, on the test sentences."""
    compared = read_result(baseline)
    models = [load_translation(each) for each in (baseline, folder)]
    first, second = (model.translate(data.test.source_lines, beam) for model in models)
    settings = models[0].settings.data
    tokenizer = tokenizer_of(settings.target, data.tokenisation == "space")
    found = paired_bootstrap(first, second, data.test.target_lines, tokenizer, settings.lowercase)
    if compared is None or read_result(baseline) != compared:
        raise RunFolderError(f"{baseline}: was trained again while {folder} was compared with it: run the row again")
    return {**found, "baseline_weights_sha256": compared.weights_sha256, "code_version": versions()["code_version"]}
