"""A row that trains a translation model: BLEU with signature and interval, and which subwords the languages share.

A model that is compared with a baseline is tested against it by paired bootstrap resampling (Koehn 2004), on the same
test sentences, as soon as the baseline's run folder is there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
from pathlib import Path
from typing import Any

from wordtie.data.bitext import Bitext, read_bitext
from wordtie.data.subword_overlap import overlap
from wordtie.errors import RunFolderError
from wordtie.evaluation.bleu import paired_bootstrap, tokenizer_of
from wordtie.inference.translation import load_translation
from wordtie.reproduction.ledger import ledger
from wordtie.reproduction.ledger.entry import about, stage_entry, texts
from wordtie.reproduction.ledger.record import entry_of
from wordtie.reproduction.papers.row import Row, translation_settings
from wordtie.reproduction.running.place import Outcome, Place
from wordtie.runs.layout import MANIFEST
from wordtie.runs.provenance import versions
from wordtie.runs.result import TrainingResult, read_result
from wordtie.training.translation import train_translation

BASELINE = "-baseline"
"""How the name of a row ends that others of its languages are compared with."""


def baseline_of(name: str) -> str:
    """The row that a row of this name is compared with: of the same text and languages; empty for a baseline.

    >>> baseline_of("paper/table-8/multi30k-en-de-decoder-wt")
    'paper/table-8/multi30k-en-de-baseline'
    """
    text_and_languages = re.match(r".*/\w+-[a-z]{2}-[a-z]{2}(?=-)", name)
    return "" if name.endswith(BASELINE) or not text_and_languages else f"{text_and_languages[0]}{BASELINE}"


def run_translation_row(row: Row, seed: int, place: Place) -> Outcome:
    """Train what the row says, unless the ledger has it for these settings and this text, and enter it.

    Raises what `train_translation` raises.
    """
    settings = translation_settings(row, seed)
    data, folder = read_bitext(settings.data), place.folder(row, seed)
    path = ledger.entry_path(place.results, row.name, seed)
    if path.exists() and not place.again:
        entry = ledger.read_entry(path)
        comparable = _baseline_folder(row, seed, place) and _trained(folder, place)
        paired = "paired" in entry["measures"] or not comparable
        if not ledger.is_stale(entry, row) and entry["data"] == texts(settings, data) and paired:
            return "already"
    result = _trained(folder, place)
    if result is None:
        limit = None if math.isinf(place.max_seconds) else f"{max(0.01, place.max_seconds):.2f}s"
        limited = dataclasses.replace(settings.training, threads=place.threads, max_time=limit)
        mode = "overwrite" if place.again else "resume"
        result = train_translation(dataclasses.replace(settings, training=limited), folder, mode)  # type: ignore[arg-type]
        if result.stopped == "max_time":
            return "stopped"
    content = entry_of(about(row, settings, data), stage_entry(result, folder))
    content["measures"] = measures(row, seed, place, data, result)
    ledger.write_entry(place.results, content)
    return "done"


def _trained(folder: Path, place: Place) -> TrainingResult | None:
    """The result of a run that is finished; None if something is to be trained."""
    result = None if place.again else read_result(folder)
    return None if result is None or result.stopped == "max_time" else result


def measures(row: Row, seed: int, place: Place, data: Bitext, result: TrainingResult) -> dict[str, Any]:
    """What the entry of a translation row says beside perplexity."""
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
    if not name or not (folder / MANIFEST).exists():
        return None
    result = read_result(folder)
    return None if result is None or result.stopped == "max_time" else folder


def paired(folder: Path, baseline: Path, data: Bitext, beam: int) -> dict[str, Any]:
    """The paired bootstrap test of a model against the baseline, on the test sentences."""
    models = [load_translation(each) for each in (baseline, folder)]
    first, second = (model.translate(data.test.source_lines, beam) for model in models)
    settings = models[0].settings.data
    tokenizer = tokenizer_of(settings.target, data.tokenisation == "space")
    found = paired_bootstrap(first, second, data.test.target_lines, tokenizer, settings.lowercase)
    compared = read_result(baseline)
    assert compared is not None
    return {**found, "baseline_weights_sha256": compared.weights_sha256, "code_version": versions()["code_version"]}
