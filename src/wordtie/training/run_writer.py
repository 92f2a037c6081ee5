"""What a run writes into its folder while it trains: settings, metrics, the checkpoint, the best model so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Any

import yaml

from wordtie.config import AnySettings, Settings, settings_from_dict, to_dict
from wordtie.data.token_file import PreparedData
from wordtie.errors import RunFolderError, SettingsError
from wordtie.runs import checkpoint, provenance, run_folder
from wordtie.runs.compatibility import changed_settings, difference, identity
from wordtie.runs.layout import CHECKPOINT, MODEL_FILES, PARTS, RESULT, SETTINGS
from wordtie.runs.metrics import Metrics
from wordtie.runs.record import read_noted, read_record
from wordtie.storage.atomic import write_text
from wordtie.training.resume_checks import check_resumable
from wordtie.training.run_state import RunState
from wordtie.training.task import Task, Tensors


@dataclass(frozen=True)
class Resumable:
    """An opened checkpoint whose settings are those of the run to resume."""

    path: Path
    tensors: Tensors
    record: dict[str, Any]


@dataclass(frozen=True)
class RunRecord:
    """What identifies a run, for any kind of model, and how its model is written."""

    settings: AnySettings
    identity: dict[str, Any]
    """What a checkpoint records about its run: see `wordtie.runs.compatibility`."""
    write_model: Callable[[Path, Tensors], None]
    """Function that writes tensors as the run folder's model. Raises `SaveError`."""
    noted: dict[str, int | None] = field(default_factory=dict)
    """What each checkpoint records, and each invocation in `sessions.jsonl`, besides where it begins."""


def language_model_record(settings: Settings, data: PreparedData, ngram: int | None = None) -> RunRecord:
    """Return the record of a run that trains a language model. `ngram`: order of the n-gram model to mix in."""
    known_by = identity(settings, data)

    def write(folder: Path, tensors: Tensors) -> None:
        model = run_folder.SavedModel(settings, tensors, data.tokenizer, known_by["texts"])
        run_folder.write_language_model(folder, model)

    return RunRecord(settings, known_by, write, {"ngram": ngram})


def read_resumable(folder: Path, settings: AnySettings) -> Resumable | None:
    """Read the checkpoint of a run with these settings; None if the run has none yet.

    Settings are compared here, before a text is read in vain; `RunWriter.begin` checks the text itself. Raises
    `RunFolderError` for a damaged checkpoint and for other settings.
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
    """Return the settings of the checkpoint in the folder; None if there is none, or for another kind of model.

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


def noted_at_checkpoint(folder: Path) -> dict[str, int | None]:
    """Return what the run of the checkpoint was started with besides its settings; empty without a checkpoint.

    Raises `RunFolderError` for a damaged checkpoint.
    """
    path = folder / CHECKPOINT
    if not path.exists():
        return {}
    with checkpoint.wrap_record_errors(path):
        return read_noted(checkpoint.record(path))


def incompatible_run(folder: Path, other: str) -> RunFolderError:
    """Return the error for a run that was started with other settings, or on another text."""
    back = ""
    if other.startswith(("text of", "data.corpus")):
        back = "give it its text again, or "
    elif not other.startswith("words, "):
        settings, run = (quote(str(path)) for path in (folder / SETTINGS, folder))
        back = f"resume with --config {settings} --out {run} --resume, or "
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
        """Restore the run from its checkpoint, or save its first one. Raises `RunFolderError`, `SaveError`."""
        if self.resumable:
            self._restore(self.resumable, state, task)
        else:
            self.checkpoint(state)
        if self.replaces:  # not before there was room for the new run; the model stays until there is another
            run_folder.clear(self.folder, but=(CHECKPOINT, *MODEL_FILES, PARTS))
        sections = to_dict(self.settings)
        if "ngram" in self.record.noted:
            sections["ngram"] = {"order": self.record.noted["ngram"]}
        write_text(self.folder / SETTINGS, yaml.safe_dump(sections, sort_keys=False))
        self.metrics.open(state.position.metrics_length)

    def forget_result(self) -> None:
        """Remove the result of the model that was there before this training."""
        (self.folder / RESULT).unlink(missing_ok=True)

    def begin_invocation(self, state: RunState) -> None:
        """Record what computes from here on: code and machine. Raises `SaveError`.

        Before the first window, the lines that are there are of a run that this one replaces, or of invocations that
        computed nothing of it.
        """
        where = {"epoch": state.position.epoch, "window": state.position.window}
        fresh = where == {"epoch": 1, "window": 0}
        provenance.begin_invocation(self.folder, fresh, state.device, {**where, **self.record.noted})

    def end_invocation(self, how: str) -> None:
        """Record how the invocation ended, if the run will not continue. Raises `SaveError`."""
        provenance.end_invocation(self.folder, how)

    def __enter__(self) -> None:
        """Do nothing: `begin` has opened the metrics."""

    def __exit__(self, *error: object) -> None:
        self.metrics.close()

    def checkpoint(self, state: RunState) -> None:
        """Save everything that decides what comes next. Raises `SaveError`."""
        state.position.metrics_length = self.metrics.length
        record = {"position": asdict(state.position), "identity": self.record.identity, "noted": self.record.noted}
        checkpoint.save(self.folder / CHECKPOINT, state.tensors(), record)

    def export(self, tensors: Tensors) -> None:
        """Make these parameters the run folder's model. Raises `SaveError`."""
        self.record.write_model(self.folder, tensors)
        if self.replaces:  # what was mixed into the model before, which could be used until now
            run_folder.remove_mixed(self.folder)
            self.replaces = False
        else:  # parts of a mixture that an invocation replaced which was stopped before it had a model
            run_folder.remove_parts(self.folder)

    def _restore(self, resumable: Resumable, state: RunState, task: Task) -> None:
        """Restore the state from the checkpoint. Raises `RunFolderError` if the text is not the run's."""
        with checkpoint.wrap_record_errors(resumable.path):
            position, before = read_record(resumable.record)
            other = difference(before, self.record.identity, type(self.settings))
            if not other:
                check_resumable(resumable.tensors, state, position, self.settings, task)
                state.restore(resumable.tensors, position)
        if other:
            raise incompatible_run(self.folder, other)
        self.resumable = replace(resumable, tensors={})  # their memory is free again
