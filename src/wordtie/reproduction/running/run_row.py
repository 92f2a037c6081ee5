"""Run one row to the end, or as far as the time allows, and enter it in the ledger.

A run folder has the row's name and seed, so that the next call finds it, on another machine too. A run that
`wordtie train` made there, with the row's settings, is taken over like any other.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from wordtie.config import Settings
from wordtie.console import tell
from wordtie.data.prepare import prepare
from wordtie.data.token_file import PreparedData
from wordtie.errors import DivergedError, RunFolderError
from wordtie.reproduction.ledger import ledger
from wordtie.reproduction.ledger.entry import about, curve, stage_entry, texts
from wordtie.reproduction.ledger.record import DIVERGED, STAGES, Entry, Scores, Stage, entry_of, stages_of
from wordtie.reproduction.papers.row import Changes, Row
from wordtie.reproduction.running import kneser_ney_row
from wordtie.reproduction.running.existing_run import find_reusable_result
from wordtie.reproduction.running.measures import MEASURES, is_measured
from wordtie.reproduction.running.place import Outcome as Outcome
from wordtie.reproduction.running.place import Place as Place
from wordtie.reproduction.running.translation_row import run_translation_row
from wordtie.reproduction.running.word2vec_row import run_word2vec_row
from wordtie.runs import checkpoint
from wordtie.runs.compatibility import recorded_settings
from wordtie.runs.layout import CHECKPOINT, MANIFEST, SETTINGS
from wordtie.runs.provenance import invocations, versions
from wordtie.runs.record import read_record
from wordtie.runs.result import TrainingResult
from wordtie.training.train import train


def run_row(row: Row, seed: int, place: Place) -> Outcome:
    """Train or count the row's model, unless the ledger has its result for these settings and this text.

    Raises the same errors as `train`.
    """
    if row.kind == "translation":
        return run_translation_row(row, seed, place)
    if row.kind == "word2vec":
        return run_word2vec_row(row, seed, place)
    started = time.monotonic()
    seed = 1 if row.kind == "kneser_ney" else seed  # nothing is drawn where words are counted
    settings = row.settings(seed)
    data = prepare(settings.data)
    entry = entered(row, settings, data, place)
    if entry and not (place.again and set(ledger.ever(entry, "code_version")) != {versions()["code_version"]}):
        return "already"
    if row.kind == "kneser_ney":
        counted = about(row, settings, data)
        counted["configuration"] = {"data": counted["configuration"]["data"]}
        ledger.write_entry(place.results, entry_of(counted, kneser_ney_row.kneser_ney(data)))
        return "done"
    found = stages_trained(row, seed, data, place, started)
    if found is None:
        return "stopped"
    stages, diverged = found
    best = min(stages, key=lambda each: each["valid_perplexity"])
    folder = place.folder(row, seed, stages.index(best) + 1)
    content = entry_of(about(row, row.settings(seed), data), best)
    if diverged is not None:
        content[DIVERGED] = dict(diverged)
    if len(stages) > 1:
        for before, after in pairwise(stages):
            after["started_from"] = before["weights_sha256"]
        changes = row.stages[: len(stages)]
        content[STAGES] = [{**each, "changed": dict(changed)} for each, changed in zip(stages, changes, strict=True)]
    earlier = measured_before(row, seed, place, content["weights_sha256"])
    content["measures"] = {name: MEASURES[name](folder) or earlier.get(name, {}) for name in row.measures}
    ledger.write_entry(place.results, content)
    return "done"


def stages_trained(
    row: Row, seed: int, data: PreparedData, place: Place, started: float
) -> tuple[list[Stage], Changes | None] | None:
    """Return an entry for each stage, and the changes of a later stage that diverged; None if time runs out."""
    stages: list[Stage] = []
    for stage, changes in enumerate(row.stages, start=1):
        if stages and not falls_short(row, stages[-1]):
            break
        left = place.max_seconds - (time.monotonic() - started)
        if left <= 0:
            return None
        start = {"training.start_from": str(place.folder(row, seed, stage - 1))} if stages else {}
        weights = stages[-1]["weights_sha256"] if stages else ""
        folder = place.folder(row, seed, stage)
        limited = dataclasses.replace(place, max_seconds=left)
        try:
            settings = row.settings(seed, {**changes, **start})
            result = trained(settings, data, folder, limited, weights)
        except DivergedError as error:
            if stage == 1:
                raise
            tell(f"{row.name}: stage {stage} diverged, what came before it stands: {error}")
            return stages, changes
        if result.stopped == "max_time":
            return None
        stages.append(stage_entry(result, folder, settings.training.validations is not None))
    return stages, None


def entered(row: Row, settings: Settings, data: PreparedData, place: Place) -> Entry | None:
    """Return the row's entry if it has these settings and texts and nothing is left to train or to measure."""
    path = ledger.entry_path(place.results, row.name, settings.training.seed)
    entry = ledger.read_unless_again(path, place.again)
    if entry is None or ledger.is_stale(entry, row):
        return None
    if entry["data"] != texts(settings, data) or not same_tokens(entry, data):
        return None
    untried = row.stages[len(stages_of(entry)) :]
    waiting = untried and entry.get(DIVERGED) != dict(untried[0]) and falls_short(row, entry)
    folder = place.folder(row, settings.training.seed)
    unmeasured = not all(is_measured(name, entry["measures"].get(name), folder) for name in row.measures)
    still_there = (folder / MANIFEST).exists()
    return None if waiting or (unmeasured and still_there) else entry


def same_tokens(entry: Entry, data: PreparedData) -> bool:
    """Whether the entry's texts have as many tokens as the prepared data."""
    splits = data.info.splits
    return (entry["valid_tokens"], entry["test_tokens"]) == (splits["valid"].tokens, splits["test"].tokens)


def measured_before(row: Row, seed: int, place: Place, weights_sha256: str) -> dict[str, Any]:
    """Return what the row's entry has measured on these weights: the data for it may be missing now."""
    with contextlib.suppress(ledger.LedgerError):
        entry = ledger.read_entry(ledger.entry_path(place.results, row.name, seed))
        if entry.get("weights_sha256") == weights_sha256:
            return dict(entry.get("measures", {}))
    return {}


def falls_short(row: Row, scores: Scores) -> bool:
    """Whether the validation perplexity is above the published one; the test text plays no part."""
    return row.published.valid is not None and scores["valid_perplexity"] > row.published.valid


def trained(settings: Settings, data: PreparedData, folder: Path, place: Place, started_from: str) -> TrainingResult:
    """Train in the folder, or resume there, unless it holds the finished run.

    `started_from` is the SHA-256 of the weights that a later stage starts from; empty for the first.

    Raises `RunFolderError` if the run there is damaged or was started differently, unless `place.again` is set.
    """
    result, overwrite, as_begun = None, False, settings
    try:
        as_begun = _as_begun(settings, folder)
        earlier = invocations(folder)
        result = find_reusable_result(folder, as_begun, data, started_from)
        spread = settings.training.validations is not None
        # missing metrics are reported before hours are spent, not after
        curve(folder, validated(folder, result, spread), spread)
        by = {call["code_version"] for call in earlier}
        overwrite = place.again and bool(result or earlier) and by != {versions()["code_version"]}
    except RunFolderError as error:
        if not place.again:
            raise RunFolderError(f"{error}; --again trains it again") from error
        overwrite = True
    if result is not None and not overwrite:
        return result
    whole = settings if overwrite else as_begun
    limit = None if math.isinf(place.max_seconds) else f"{max(0.01, place.max_seconds):.2f}s"
    limited = dataclasses.replace(whole.training, threads=place.threads, max_time=limit)
    try:
        return train(dataclasses.replace(whole, training=limited), folder, mode="overwrite" if overwrite else "resume")
    except DivergedError as error:
        with_others = f"`wordtie train --config {folder / SETTINGS}` takes these options, a row has its settings"
        raise DivergedError(f"{error}: {with_others}") from error


def validated(folder: Path, result: TrainingResult | None, spread: bool) -> int:
    """Return the minimum number of epochs (`spread`: of validations) that a run's result or checkpoint implies.

    Raises `RunFolderError` if they are damaged.
    """
    if result is not None:
        return result.best_epoch if spread else result.epochs
    if not (folder / CHECKPOINT).exists():
        return 0
    with checkpoint.wrap_record_errors(folder / CHECKPOINT):
        position, _ = read_record(checkpoint.record(folder / CHECKPOINT))
        return len(position.history) if spread else position.epoch - 1


def _as_begun(settings: Settings, folder: Path) -> Settings:
    """Return the settings with the folder of the stage before as recorded then: folders may have moved since."""
    begun = recorded_settings(folder)
    name = (settings.training.start_from and begun and begun.training.start_from) or settings.training.start_from
    return dataclasses.replace(settings, training=dataclasses.replace(settings.training, start_from=name))
