"""A finished run folder as a result: whoever trained it, if it is whole and of the same settings and text."""

from __future__ import annotations

import json
from pathlib import Path

from wordtie.config import Settings
from wordtie.errors import RunFolderError
from wordtie.report.ledger import configuration
from wordtie.text.token_file import PreparedData
from wordtie.training import checkpoint, run_folder
from wordtie.training.identity import difference, identity
from wordtie.training.trainer import TrainingResult


def finished_result(folder: Path, settings: Settings, data: PreparedData) -> TrainingResult | None:
    """What the run came to; None where it is not finished, or is another one.

    Raises `RunFolderError` where the folder says that the run is finished but its model is damaged.
    """
    path = folder / "result.json"
    if not path.exists():
        return None
    try:
        result = TrainingResult(**{**json.loads(path.read_text(encoding="utf-8")), "folder": folder})
    except (ValueError, TypeError) as error:
        raise RunFolderError(
            f"{path}: damaged ({error}): remove it, and the run goes on from its checkpoint"
        ) from error
    if result.stopped == "max_time":
        return None
    config, tensors, _ = run_folder.read_model(folder, "language_model")
    try:
        before = run_folder.read_settings(config, folder)
    except RunFolderError:
        return None
    if configuration(before) != configuration(settings) or not _same_texts(folder, data):
        return None
    if checkpoint.tensors_sha256(tensors) != result.weights_sha256:
        raise RunFolderError(f"{path}: measured on other weights than {folder / run_folder.MODEL}: train it anew")
    return result


def begun_otherwise(folder: Path, settings: Settings, data: PreparedData) -> str:
    """What the run in the folder was begun with that these settings and text are not; empty where it can go on."""
    path = folder / run_folder.CHECKPOINT
    if not path.exists():
        return ""
    _, record = checkpoint.load(path)
    return difference(record["identity"], identity(settings, data))


def _same_texts(folder: Path, data: PreparedData) -> bool:
    """Whether the checkpoint's texts are these. Without a checkpoint there is no telling."""
    path = folder / run_folder.CHECKPOINT
    if not path.exists():
        return False
    _, record = checkpoint.load(path)
    now = {split: values["sha256"] for split, values in data.info["splits"].items()}
    return bool(record["identity"]["texts"] == now)
