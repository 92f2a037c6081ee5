"""Reuse a finished run folder, whoever trained it, if it is intact and has the same settings and text."""

from __future__ import annotations

from pathlib import Path

from wordtie.config import Settings, TrainingSettings
from wordtie.data.token_file import PreparedData
from wordtie.errors import RunFolderError
from wordtie.reproduction.ledger.ledger import configuration
from wordtie.runs import checkpoint, layout
from wordtie.runs.compatibility import difference, identity, settled
from wordtie.runs.record import read_record
from wordtie.runs.result import Position, TrainingResult, read_result
from wordtie.runs.run_folder import read_language_model
from wordtie.training.schedule import out_of_patience


def find_reusable_result(
    folder: Path, settings: Settings, data: PreparedData, started_from: str = ""
) -> TrainingResult | None:
    """Return the result of the finished run in the folder; None if the run has not started or has not finished.

    `started_from` is the SHA-256 of the weights that a later stage must have started from. Raises
    `RunFolderError` if the run cannot be resumed: it is damaged, or was started with other settings.
    """
    _check_begun_alike(folder, settings, data, started_from)
    result = _finished_result(folder, settings, data)
    if result is None and (folder / layout.MANIFEST).exists() and not (folder / layout.CHECKPOINT).exists():
        raise RunFolderError(f"{folder}: has a model, but no {layout.CHECKPOINT}: restore it from a copy")
    return result


def _check_begun_alike(folder: Path, settings: Settings, data: PreparedData, started_from: str) -> None:
    path = folder / layout.CHECKPOINT
    if not path.exists():
        return
    _, record = checkpoint.load(path)
    with checkpoint.wrap_record_errors(path):
        position, before = read_record(record)
        other = difference(before, identity(settings, data))
    if other:
        raise RunFolderError(f"{folder}: was started with other {other}: move it away")
    if position.started_from not in ("", started_from):
        raise RunFolderError(f"{folder}: was started from other weights than those of the stage before: move it away")
    check_not_longer(folder, position, settings.training)


def check_not_longer(folder: Path, position: Position, training: TrainingSettings) -> None:
    """Raise `RunFolderError` for a run that went on beyond the epochs or the patience of these settings."""
    trained = position.epoch - 1
    if trained > training.epochs:
        raise RunFolderError(f"{folder}: has {trained} epochs, not {training.epochs}: move it away")
    earlier = (position.history[:epochs] for epochs in range(1, trained))
    if any(out_of_patience(history, training.patience, training.average_patience) for history in earlier):
        raise RunFolderError(f"{folder}: went on beyond a patience of {training.patience}: move it away")


def _finished_result(folder: Path, settings: Settings, data: PreparedData) -> TrainingResult | None:
    """Return the result of the run; None if it has not finished, or has other settings or texts."""
    result = read_result(folder)
    if result is None or result.stopped == "max_time":
        return None
    saved = read_language_model(folder)
    alike = configuration(settled(saved.settings, data)) == configuration(settled(settings, data))
    if not alike or saved.tokenizer != data.tokenizer or saved.texts != data.texts:
        return None
    if checkpoint.tensors_sha256(saved.tensors) != result.weights_sha256:
        raise RunFolderError(
            f"{folder / layout.RESULT}: measured on other weights than {folder / layout.MODEL}: move it away"
        )
    return result
