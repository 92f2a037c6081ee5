"""The curves of a run, finished or running: what its folder records, as plain values.

    read_curves("runs/ptb")["points"][-1]["valid_perplexity"]

Nothing is locked and nothing is written, so a folder can be read as often as one likes while another process trains
there. Torch is not loaded.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict

import yaml

from wordtie.errors import RunFolderError
from wordtie.runs import live_progress
from wordtie.runs.layout import CHECKPOINT, CONFIG, INVOCATIONS, MANIFEST, METRICS, MIXTURE_FOLDER, RESULT, SETTINGS
from wordtie.runs.metrics import read_metrics
from wordtie.runs.mixture_run import check_models
from wordtie.runs.provenance import UNMIXED, invocations
from wordtie.runs.ready import run_path
from wordtie.runs.result import read_result
from wordtie.runs.run_folder import is_mixture_of
from wordtie.runs.run_progress import share_now
from wordtie.runs.sealed import how_to_restore
from wordtie.storage.lock import is_locked
from wordtie.storage.opening import read_regular
from wordtie.storage.strict_json import conform, parse

State: TypeAlias = Literal["running", "stopped", "finished", "damaged"]
"""`stopped`: by a signal, by `--max-time` or because it diverged; `--resume` continues it."""


class Point(TypedDict):
    """A line of `metrics.jsonl`. None: the line lacks the figure, as for earlier versions or other kinds of models."""

    epoch: int
    """Epoch in which the line was written, from 1."""
    window: int | None
    """Training steps so far, over all epochs."""
    tokens: int | None
    """Target words that were trained on so far, over all epochs."""
    seconds: float
    """Seconds of training and validation so far."""
    loss: float | None
    """Nats per training token since the line before."""
    epoch_loss: float | None
    """Nats per training token of the epoch so far; only at a validation."""
    valid_perplexity: float | None
    """Validation perplexity; only at a validation."""
    valid_bleu: float | None
    """Validation BLEU; only at a validation of a translation model."""
    rate: float | None
    """The learning rate of the last step."""
    words_per_second: float | None
    """Training words per second since the line before; the time of validation is not counted."""


class LiveProgress(TypedDict):
    """Progress of a running run, about a second old."""

    epochs: float
    """Epochs trained so far, as a fraction: 2.48."""
    seconds: float
    """Seconds of training and validation so far."""
    share: float | None
    """Finished share of the epochs or tokens, from 0 to 1; None if unknown. Early stopping may end the run sooner."""
    seconds_left: float | None
    """Seconds left at the speed so far; None if unknown."""


class Curves(TypedDict):
    """All that is needed to draw a run."""

    folder: str
    state: State
    why: str
    """What happened to a run that is damaged or has diverged, or what an unmixed run lacks; otherwise empty."""
    points: list[Point]
    """Oldest first. Empty for a run that has written none yet, and for kinds of models that have none."""
    live: LiveProgress | None
    """Progress of a running run; None while it is preparing, and for other runs."""


def read_curves(run: str | Path) -> Curves:
    """Read the curves of a run folder, which may be in training.

    A damaged run has the points that could be read, usually none. Raises `RunFolderError` if there is no run folder.
    """
    folder = run_folder_of(run)
    state, why = read_state(folder, seal=False)
    try:
        points = _points(read_metrics(folder))
    except RunFolderError:  # `why` says so
        points = []
    live = _live(folder, points) if state == "running" else None
    return {"folder": str(run), "state": state, "why": why, "points": points, "live": live}


def run_folder_of(run: str | Path) -> Path:
    """Return the run folder of this name. Raises `RunFolderError` if there is none, or no run in it."""
    folder = run_path(run)
    if not folder.is_dir():
        raise RunFolderError(f"{folder}: no such run folder; `wordtie train` makes one, `wordtie runs` lists them")
    if not is_run_folder(folder):
        raise RunFolderError(f"{folder}: not a run folder; `wordtie runs {folder}` lists those in it")
    return folder


def is_run_folder(folder: Path) -> bool:
    """Whether the folder holds a run of any kind, or what is left of one, or one is about to start there."""
    return any((folder / name).is_file() for name in (MANIFEST, CHECKPOINT, METRICS, INVOCATIONS)) or is_locked(folder)


def read_state(folder: Path, seal: bool = True) -> tuple[State, str]:
    """Return the state of a run folder, and what happened to a run that is damaged, has diverged or is unmixed.

    `seal`: compare the model, and all that is mixed from it, with their SHA-256 sums, which reads them whole.
    """
    running = is_locked(folder)
    try:
        read_metrics(folder)
        calls = invocations(folder)
        result = read_result_values(folder)
        if seal and (folder / MANIFEST).exists():
            check_models(folder)
    except (RunFolderError, OSError) as error:
        return "damaged", str(error)
    if running:
        return "running", ""
    sealed, resumable = (folder / MANIFEST).exists(), (folder / CHECKPOINT).exists()
    if not sealed and not resumable:
        return "damaged", f"{folder}: has neither a {MANIFEST} nor a {CHECKPOINT}: restore it from a copy"
    if result and "stopped" in result and not (folder / METRICS).exists():  # as of all that is trained step by step
        return "damaged", f"{folder / METRICS}: missing: restore it from a copy"
    if result is not None and not sealed:
        return "damaged", f"{folder / MANIFEST}: missing: {how_to_restore(folder)}"
    if result and result.get("mixture") and not is_mixture_of(folder / MIXTURE_FOLDER, folder):
        path = folder / MIXTURE_FOLDER
        return "damaged", f"{path}: damaged or missing, it is not a mixture of this model: {how_to_restore(path)}"
    if result is None and resumable:
        return "stopped", str(calls[-1].get("ended", "")) if calls else ""
    if result and calls and calls[-1].get("ngram") and result.get("mixture") is None:
        return "stopped", UNMIXED
    return ("stopped" if result and result.get("stopped") == "max_time" else "finished"), ""


def read_result_values(folder: Path) -> dict[str, Any] | None:
    """Read `result.json` of a run of any kind; None if it has not ended. Raises `RunFolderError` if it is damaged."""
    path = folder / RESULT
    try:
        values = conform(parse(read_regular(path)), dict[str, Any])
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise RunFolderError(
            f"{path}: damaged ({error}): remove it, and the run resumes from its checkpoint"
        ) from error
    if "stopped" in values:
        read_result(folder)  # whose fields are known
    return values


def _points(lines: list[dict[str, Any]]) -> list[Point]:
    points: list[Point] = []
    before: dict[str, Any] = {"tokens": 0, "seconds": 0.0, "measuring_seconds": 0.0}
    for line in lines:
        train, recent = line.get("train_perplexity"), line.get("recent_perplexity")
        points.append(
            {
                "epoch": line["epoch"],
                "window": line.get("window"),
                "tokens": line.get("tokens"),
                "seconds": line["seconds"],
                "loss": None if recent is None else math.log(recent),
                "epoch_loss": None if train is None else math.log(train),
                "valid_perplexity": line.get("valid_perplexity"),
                "valid_bleu": line.get("valid_bleu"),
                "rate": line.get("lr"),
                "words_per_second": _words_per_second(before, line),
            }
        )
        before = line
    return points


def _words_per_second(before: dict[str, Any], line: dict[str, Any]) -> float | None:
    """Compute the words per second between two lines; None if tokens or the time of a validation are missing."""
    if "tokens" not in before or "tokens" not in line:
        return None
    measured = line.get("measuring_seconds")
    if measured is None and "valid_perplexity" in line:
        return None
    seconds = line["seconds"] - before["seconds"]
    if measured is not None:
        seconds -= measured - before.get("measuring_seconds", measured)
    words = line["tokens"] - before["tokens"]
    return words / seconds if seconds > 0 and words > 0 else None


def _live(folder: Path, points: list[Point]) -> LiveProgress | None:
    now = live_progress.read(folder)
    if now is None:
        return None
    epochs, seconds = now
    share = _share(read_settings(folder).get("training", {}), epochs, seconds, points)
    left = seconds * (1 - share) / share if share else None
    return {"epochs": epochs, "seconds": seconds, "share": share, "seconds_left": left}


def _share(training: dict[str, Any], epochs: float, seconds: float, points: list[Point]) -> float | None:
    """Return the finished share of a budget in tokens, or else in epochs; None if unknown."""
    target = training.get("tokens")
    if target is None:
        every = training.get("epochs")
        return min(1.0, epochs / every) if isinstance(every, int) and every > 0 else None
    known = [(point["tokens"], point["seconds"]) for point in points if point["tokens"]]
    if not known or not isinstance(target, int) or target <= 0:
        return None
    tokens, then = known[-1]
    return share_now(tokens / target, then, seconds)


def read_settings(folder: Path) -> dict[str, dict[str, Any]]:
    """Read the sections of `settings.yaml`, or else of `config.json`, as they are; empty if neither can be read."""
    for read, name in ((yaml.safe_load, SETTINGS), (_sections_of_config, CONFIG)):
        try:
            sections = read(read_regular(folder / name))
        except (OSError, ValueError, AttributeError, RecursionError, yaml.YAMLError):
            continue
        if isinstance(sections, dict) and all(isinstance(each, dict) for each in sections.values()):
            return sections
    return {}


def _sections_of_config(data: bytes) -> Any:
    return json.loads(data).get("settings", {})
