"""The runs below some folders, side by side: settings that differ, perplexity, parameters, time, state.

    list_runs(["runs"])

They are read as by `wordtie.runs.curves`: nothing is locked or written, and torch is not loaded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict

from wordtie.config.renamed import with_current_names
from wordtie.config.training import RUNTIME_ONLY
from wordtie.errors import RunFolderError, SettingsError
from wordtie.runs import live_progress
from wordtie.runs.curves import State, is_run_folder, read_result_values, read_settings, read_state
from wordtie.runs.layout import CONFIG
from wordtie.runs.metrics import read_metrics
from wordtie.runs.ready import run_path
from wordtie.storage.opening import read_regular

TEXT = "data.corpus"
"""Setting that is always listed."""
NOT_LISTED = ("training.device", *(f"training.{name}" for name in RUNTIME_ONLY))
"""Settings that change the result little or not at all."""


class RunSummary(TypedDict):
    """A run in a few figures. None: not known, or not yet."""

    run: str
    """Run folder."""
    state: State
    why: str
    """What happened to a run that is damaged or has diverged, or what an unmixed run lacks; otherwise empty."""
    kind: str | None
    """`language_model`, `ngram`, `mixture`, `translation`, `word2vec`; None before a first model is saved."""
    epochs: float | None
    """Epochs trained so far, as a fraction."""
    valid_perplexity: float | None
    """Validation perplexity of the finished model; before that, the best so far."""
    test_perplexity: float | None
    """Test perplexity of the finished model."""
    mixture_test_perplexity: float | None
    """Test perplexity of the mixture with n-grams, if there is one."""
    test_bleu: float | None
    """Test BLEU of a finished translation model."""
    parameters: int | None
    seconds: float | None
    """Seconds of training and validation so far."""
    settings: dict[str, Any]
    """Settings by full name: the text, and those in which the listed runs differ."""


def list_runs(folders: Sequence[str | Path], seal: bool = True) -> list[RunSummary]:
    """List all runs in and below the folders, sorted by name within each.

    `seal`: compare each model with its SHA-256 sums, which reads it whole. A run in a run folder, such as the n-gram
    model of a mixture, is not listed by itself. Raises `RunFolderError` for a folder that is not there.
    """
    found = list(dict.fromkeys(run for folder in folders for run in _runs_below(folder)))
    settings = [flat_settings(run) for run in found]
    listed = differing(settings)
    return [
        {**_summary(run, seal), "settings": {name: values.get(name) for name in listed}}  # type: ignore[typeddict-item]
        for run, values in zip(found, settings, strict=True)
    ]


def flat_settings(folder: Path) -> dict[str, Any]:
    """Return settings by full name, under their current names; lists become tuples, other nested values are left out.

    Empty for a run whose settings cannot be read.
    """
    try:
        sections = with_current_names(read_settings(folder))
    except SettingsError:
        return {}
    found = {f"{section}.{name}": value for section, values in sections.items() for name, value in values.items()}
    found = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
    return {name: value for name, value in found.items() if _is_plain(value)}


def differing(settings: Sequence[dict[str, Any]]) -> list[str]:
    """Name the text, and the settings that have different values in two of the runs, in their own order.

    >>> differing([{"model.hidden": 8, "training.seed": 1}, {"model.hidden": 9, "training.seed": 1}, {}])
    ['model.hidden']
    """
    names = dict.fromkeys(name for values in settings for name in values if name not in NOT_LISTED)
    return [
        name for name in names if name == TEXT or len({repr(values[name]) for values in settings if name in values}) > 1
    ]


def _is_plain(value: Any) -> bool:
    values = value if isinstance(value, tuple) else (value,)
    return all(isinstance(each, str | int | float | bool | None) for each in values)


def _runs_below(folder: str | Path) -> Iterator[Path]:
    top = run_path(folder)
    if not top.is_dir():
        raise RunFolderError(f"{top}: no such folder; name the folder that your runs are in")
    for name, inner, _ in os.walk(top):
        if is_run_folder(Path(name)):
            inner.clear()
            yield Path(name)
        inner[:] = sorted(each for each in inner if not each.startswith("."))
        linked = (Path(name, each) for each in inner if Path(name, each).is_symlink())  # which `walk` does not follow
        yield from (path for path in linked if is_run_folder(path))


def _summary(folder: Path, seal: bool) -> dict[str, Any]:
    """Return a `RunSummary` without the settings."""
    state, why = read_state(folder, seal)
    try:
        result = read_result_values(folder) or {}
        lines = read_metrics(folder)
    except RunFolderError:
        result, lines = {}, []
    last: dict[str, Any] = lines[-1] if lines else {}
    valid = [line["valid_perplexity"] for line in lines if "valid_perplexity" in line]
    parts = (result.get(name) for name in ("mixture", "translation"))
    mixture, translation = (part if isinstance(part, dict) else {} for part in parts)
    live = live_progress.read(folder) if state == "running" or not result else None  # a kill leaves where it was
    epochs, seconds = live or (
        result.get("epochs_trained", last.get("epoch")),
        result.get("seconds", last.get("seconds")),
    )
    return {
        "run": str(folder),
        "state": state,
        "why": why,
        "kind": _kind(folder),
        "epochs": epochs,
        "valid_perplexity": result.get("valid_perplexity", min(valid, default=None)),
        "test_perplexity": result.get("test_perplexity"),
        "mixture_test_perplexity": mixture.get("test_perplexity"),
        "test_bleu": translation.get("test_bleu"),
        "parameters": result.get("parameters"),
        "seconds": seconds,
    }


def _kind(folder: Path) -> str | None:
    try:
        kind = json.loads(read_regular(folder / CONFIG))["kind"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return kind if isinstance(kind, str) else None
