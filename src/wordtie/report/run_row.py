"""Run one row to the end, or as far as the time allows, and enter it in the ledger.

A run folder has the row's name and seed, so that the next call finds it, on another machine too. A run that
`wordtie train` made there, with the row's settings, is taken over like any other.
"""

from __future__ import annotations

import dataclasses
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import yaml

from wordtie.config import Settings
from wordtie.errors import RunFolderError
from wordtie.papers.row import Changes, Row
from wordtie.report import counting, ledger
from wordtie.report.ledger import Entry
from wordtie.report.machine import code_version, machine, versions
from wordtie.report.measures import MEASURES
from wordtie.report.status import SECOND_SESSION
from wordtie.report.taken_over import begun_otherwise, finished_result
from wordtie.text.token_file import PreparedData
from wordtie.training.queue_table import finished_epochs
from wordtie.training.run_folder import CHECKPOINT, CONFIG
from wordtie.training.trainer import TrainingResult, prepared_data, train

Outcome: TypeAlias = Literal["done", "already", "stopped"]
"""Finished and entered; entered before; out of time, to be gone on with."""

RESULT = ("precision", "epochs", "best_epoch", "seconds")
SCORES = tuple(f"{split}_{unit}" for split in ("valid", "test") for unit in ("perplexity", "nats", "tokens"))


@dataclass(frozen=True)
class Place:
    """Where runs and results lie, and what a run may use."""

    runs: Path = Path("runs")
    results: Path = Path("results")
    threads: int = 1
    max_seconds: float = math.inf
    again: bool = False
    """Train anew what another version of the code has trained, or with other settings."""

    def folder(self, row: Row, seed: int, stage: int = 1) -> Path:
        """The run folder of a row; a second session has its own beside it."""
        return self.runs / f"{row.name}.seed-{seed}{SECOND_SESSION if stage == 2 else ''}"


def run_row(row: Row, seed: int, place: Place) -> Outcome:
    """Train or count what the row says, unless the ledger has it for these settings and this text.

    Raises what `train` raises.
    """
    started = time.monotonic()
    settings = row.settings(seed)
    data = prepared_data(settings)
    entry = entered(row, settings, data, place)
    if entry and not (place.again and entry["code_version"] != versions()["code_version"]):
        return "already"
    if row.kind == "kneser_ney":
        content = about(row, settings, data)
        content["configuration"] = {"data": content["configuration"]["data"]}
        ledger.write_entry(place.results, content | counting.kneser_ney(data))
        return "done"
    stages: list[Entry] = []
    for stage in (1, 2) if row.second_session else (1,):
        left = place.max_seconds - (time.monotonic() - started)
        if left <= 0:
            return "stopped"
        if stage == 2:
            if not falls_short(row, stages[0]):
                break
            first = _begun_from(place.folder(row, seed, 2)) or str(place.folder(row, seed))
            settings = row.settings(seed, {**row.second_session, "training.start_from": first})
        folder = place.folder(row, seed, stage)
        result = trained(settings, data, folder, dataclasses.replace(place, max_seconds=left))
        if result.stopped == "max_time":
            return "stopped"
        stages.append(stage_entry(result, folder))
    best = min(stages, key=lambda each: float(each["valid_perplexity"]))
    folder = place.folder(row, seed, stages.index(best) + 1)
    content = about(row, row.settings(seed), data) | best
    if len(stages) > 1:
        changed: tuple[Changes, Changes] = ({}, row.second_session)
        content["sessions"] = [
            {**{name: each[name] for name in (*RESULT, *SCORES, "curve")}, "changed": dict(changes)}
            for each, changes in zip(stages, changed, strict=True)
        ]
    content["measures"] = {name: MEASURES[name](folder) for name in row.measures}
    ledger.write_entry(place.results, content)
    return "done"


def entered(row: Row, settings: Settings, data: PreparedData, place: Place) -> Entry | None:
    """The row's entry in the ledger, if it is of these settings and this text, and lacks no second session."""
    path = ledger.entry_path(place.results, row.name, settings.training.seed)
    if not path.exists():
        return None
    entry = ledger.read_entry(path)
    if ledger.is_stale(entry, row) or entry["data"] != texts(settings, data):
        return None
    waiting = row.second_session and "sessions" not in entry and falls_short(row, entry)
    return None if waiting else entry


def falls_short(row: Row, entry: Entry) -> bool:
    """Whether the validation perplexity is above the published one; the test text has no say in it."""
    return row.published.valid is not None and entry["valid_perplexity"] > row.published.valid


def _begun_from(folder: Path) -> str | None:
    """What a second session was begun from: the same name must be given again, wherever the folders lie by now."""
    path = folder / "settings.yaml"
    found = yaml.safe_load(path.read_text(encoding="utf-8"))["training"]["start_from"] if path.exists() else None
    return None if found is None else str(found)


def trained(settings: Settings, data: PreparedData, folder: Path, place: Place) -> TrainingResult:
    """Train or go on in the folder, unless it holds the finished run.

    Raises `RunFolderError` where the run there was begun with other settings, and `place.again` is not given.
    """
    result = finished_result(folder, settings, data)
    log = folder / "sessions.jsonl"
    other = "" if result else begun_otherwise(folder, settings, data)
    if other and not place.again:
        raise RunFolderError(f"{folder}: was begun with other {other}: --again trains anew, or move it away")
    overwrite = bool(other) or (place.again and result is not None and _last_version(log) != versions()["code_version"])
    if result is not None and not overwrite:
        return result
    if not overwrite:
        finished_epochs(folder)  # a damaged record is told of before hours are spent, not after
    limit = None if math.isinf(place.max_seconds) else f"{max(0.01, place.max_seconds):.2f}s"
    limited = dataclasses.replace(settings.training, threads=place.threads, max_time=limit)
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = [{**versions(), "machine": machine()}]
    if not log.exists() and (folder / CHECKPOINT).exists():
        lines.insert(0, {"code_version": _made_by(folder), "machine": None})
    with log.open("w" if overwrite else "a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return train(dataclasses.replace(settings, training=limited), folder, resume=not overwrite, overwrite=overwrite)


def _sessions(log: Path) -> list[dict[str, Any]]:
    if not log.exists():
        return []
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def _made_by(folder: Path) -> str:
    """The version that `wordtie train` wrote into a folder that was begun with it."""
    path = folder / CONFIG
    return str(json.loads(path.read_text(encoding="utf-8"))["wordtie"]) if path.exists() else "unknown"


def _last_version(log: Path) -> str:
    return str(_sessions(log)[-1]["code_version"]) if log.exists() else ""


def about(row: Row, settings: Settings, data: PreparedData) -> Entry:
    """What an entry says of how its numbers came about."""
    return {
        "row": row.name,
        "seed": settings.training.seed,
        "label": row.label,
        "configuration": ledger.configuration(settings),
        "data": texts(settings, data),
        **versions(),
        "machine": machine(),
    }


def texts(settings: Settings, data: PreparedData) -> dict[str, str]:
    """The corpus, and the SHA-256 of each split's text."""
    return {"corpus": settings.data.corpus} | {split: each["sha256"] for split, each in data.info["splits"].items()}


def stage_entry(result: TrainingResult, folder: Path) -> Entry:
    """The numbers of one training session, and the machines and versions it was computed with."""
    sessions = _sessions(folder / "sessions.jsonl")
    used = sorted({each["code_version"] for each in sessions})
    machines = list({json.dumps(each["machine"]): each["machine"] for each in sessions if each["machine"]}.values())
    named = ("parameters", "weights_sha256")
    trained_with = (
        {name: sessions[-1][name] for name in ("code_version", "torch", "python", "machine")}
        if sessions
        else {"code_version": _made_by(folder), "entered_with": code_version(), "trained_by": "wordtie train"}
    )
    return {
        **trained_with,
        **({"code_versions": used} if len(used) > 1 else {}),
        **({"machines": machines} if len(machines) > 1 else {}),
        **{name: getattr(result, name) for name in (*RESULT, *SCORES, *named)},
        "curve": curve(folder),
    }


def curve(folder: Path) -> dict[str, list[float]]:
    """Training and validation perplexity of each epoch."""
    lines = finished_epochs(folder)
    return {name: [round(line[f"{name}_perplexity"], 4) for line in lines] for name in ("train", "valid")}
