"""What a run writes into its folder while it trains: settings, metrics, the checkpoint, the best model so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from wordtie.config import AnySettings, Settings, settings_from_dict, to_dict
from wordtie.data.token_file import PreparedData
from wordtie.errors import RunFolderError, SettingsError
from wordtie.runs import checkpoint, provenance, run_folder
from wordtie.runs.compatibility import changed_settings, difference, identity
from wordtie.runs.layout import CHECKPOINT, MODEL_FILES, PARTS, RESULT, SETTINGS
from wordtie.runs.metrics import Metrics
from wordtie.runs.record import read_record
from wordtie.storage.atomic import write_text
from wordtie.training.resume_checks import check_resumable
from wordtie.training.run_state import RunState
from wordtie.training.task import Task, Tensors


@dataclass(frozen=True)
class Resumable:
    """A checkpoint that was opened, and whose settings are those of the run that is to be resumed."""

    path: Path
    tensors: Tensors
    record: dict[str, Any]


@dataclass(frozen=True)
class RunRecord:
    """What a run of some kind of model is known by, and how its model is written."""

    settings: AnySettings
    identity: dict[str, Any]
    """What a checkpoint says of its run: see `wordtie.runs.compatibility`."""
    write_model: Callable[[Path, Tensors], None]
    """Makes tensors the run folder's model. Raises `SaveError`."""
    noted: dict[str, int | None] = field(default_factory=dict)
    """What each invocation notes of itself, beside where it begins."""


def language_model_record(settings: Settings, data: PreparedData, ngram: int | None = None) -> RunRecord:
    """The record of a run that trains a language model. `ngram`: the order of the one that will be mixed in."""
    known_by = identity(settings, data)

    def write(folder: Path, tensors: Tensors) -> None:
        model = run_folder.SavedModel(settings, tensors, data.tokenizer, known_by["texts"])
        run_folder.write_language_model(folder, model)

    return RunRecord(settings, known_by, write, {"ngram": ngram})


def read_resumable(folder: Path, settings: AnySettings) -> Resumable | None:
    """The checkpoint of a run with these settings; None if the run has none yet.

    Checked before a text is read for nothing; the text itself is checked by `RunWriter.begin`. Raises `RunFolderError`
    for a damaged checkpoint and for other settings.
    """
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    tensors, record = checkpoint.load(path)
    with checkpoint.wrap_record_errors(path):
        try:
            _, before = read_record(record)
            other = changed_settings(settings_from_dict(before["settings"], type(settings)), settings)
        except SettingsError as error:
            other = [str(error)]
    if other:
        raise incompatible_run(folder, ", ".join(other))
    return Resumable(path, tensors, record)


def checkpointed_settings(folder: Path) -> Settings | None:
    """The settings of the run whose checkpoint is there; None without one, or for a run of another kind.

    Raises `RunFolderError` for a damaged checkpoint.
    """
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    with checkpoint.wrap_record_errors(path):
        try:
            return settings_from_dict(read_record(checkpoint.record(path))[1]["settings"], Settings)
        except SettingsError:
            return None


def incompatible_run(folder: Path, other: str) -> RunFolderError:
    """The error for a run that was started with other settings, or on another text."""
    back = ""
    if other.startswith(("text of", "data.corpus")):
        back = "give it its text again, or "
    elif not other.startswith("words, "):
        back = f"resume with --config {folder / SETTINGS} --out {folder} --resume, or "
    return RunFolderError(
        f"{folder}: this run was started with other {other}: {back}train another with --out or --overwrite"
    )


class RunWriter:
    """Writes one run into its folder: settings, metrics, checkpoints, the model. Used under the folder's lock."""

    def __init__(self, folder: Path, record: RunRecord, mode: run_folder.Mode, resumable: Resumable | None) -> None:
        self.folder = folder
        self.settings = record.settings
        self.record = record
        self.replaces = mode == "overwrite"
        self.how_to_resume = "" if mode == "resume" else "with --resume "
        self.resumable = resumable
        self.metrics = Metrics(folder)

    def begin(self, state: RunState, task: Task) -> None:
        """Bring the run to where its checkpoint is, or save its start. Raises `RunFolderError`, `SaveError`."""
        if self.resumable:
            self._restore(self.resumable, state, task)
        else:
            self.checkpoint(state)
        if self.replaces:  # not before there was room for the new run; the model stays until there is another
            run_folder.clear(self.folder, but=(CHECKPOINT, *MODEL_FILES, PARTS))
        write_text(self.folder / SETTINGS, yaml.safe_dump(to_dict(self.settings), sort_keys=False))
        self.metrics.open(state.position.metrics_length)

    def forget_result(self) -> None:
        """It is of the model that was there before this one is trained."""
        (self.folder / RESULT).unlink(missing_ok=True)

    def begin_invocation(self, state: RunState) -> None:
        """Note what computes from here on. Raises `SaveError`."""
        where = {"epoch": state.position.epoch, "window": state.position.window}
        provenance.begin_invocation(self.folder, self.resumable is None, state.device, {**where, **self.record.noted})

    def end_invocation(self, how: str) -> None:
        """Note how it ended, if nothing more is to be expected of the run. Raises `SaveError`."""
        provenance.end_invocation(self.folder, how)

    def __enter__(self) -> None:
        """Begun."""

    def __exit__(self, *error: object) -> None:
        self.metrics.close()

    def checkpoint(self, state: RunState) -> None:
        """Save everything that decides what comes next. Raises `SaveError`."""
        state.position.metrics_length = self.metrics.length
        record = {"position": asdict(state.position), "identity": self.record.identity}
        checkpoint.save(self.folder / CHECKPOINT, state.tensors(), record)

    def export(self, tensors: Tensors) -> None:
        """Make these parameters the run folder's model. Raises `SaveError`."""
        self.record.write_model(self.folder, tensors)
        if self.replaces:  # what was mixed into the model before, which could be used until now
            run_folder.remove_mixed(self.folder)
            self.replaces = False

    def _restore(self, resumable: Resumable, state: RunState, task: Task) -> None:
        """Take everything back. Raises `RunFolderError` if the text is not the run's."""
        with checkpoint.wrap_record_errors(resumable.path):
            position, before = read_record(resumable.record)
            other = difference(before, self.record.identity, type(self.settings))
            if not other:
                check_resumable(resumable.tensors, state, position, self.settings, task)
                state.restore(resumable.tensors, position)
        if other:
            raise incompatible_run(self.folder, other)
        self.resumable = replace(resumable, tensors={})  # their memory is free again
