"""What a run keeps in its folder while it trains: settings, metrics, the checkpoint, the best model so far."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import yaml

from wordtie.config import Settings, from_dict, to_dict
from wordtie.data.token_file import PreparedData
from wordtie.errors import RunFolderError, SettingsError
from wordtie.runs import checkpoint, layout, run_folder
from wordtie.runs.compatibility import changed_settings, difference, identity
from wordtie.runs.metrics import Metrics
from wordtie.runs.provenance import begin_invocation
from wordtie.runs.record import read_record
from wordtie.storage.atomic import write_text
from wordtie.training.precision import precision_of, resolve_device
from wordtie.training.resume_checks import check_resumable
from wordtie.training.run_state import RunState, Tensors
from wordtie.training.warm_start import check_start


def check_call(folder: Path, settings: Settings, resume: bool, overwrite: bool) -> None:
    """Everything that can be refused before a text is read for nothing. Raises `RunFolderError`, `SettingsError`."""
    run_folder.check_free(folder, resume, overwrite)
    precision_of(settings, resolve_device(settings.training.device))
    if overwrite or not (folder / layout.CHECKPOINT).exists():
        check_start(settings)
    if resume:
        check_same_settings(folder, settings)


def check_same_settings(folder: Path, settings: Settings) -> None:
    """Raise `RunFolderError` for settings that are not the run's, before a text is read for nothing.

    They are those of the checkpoint, from which the run goes on.
    """
    path = folder / layout.CHECKPOINT
    if not path.exists():
        return
    with checkpoint.wrap_record_errors(path):
        try:
            _, before = read_record(checkpoint.record(path))
            other = changed_settings(from_dict(before["settings"]), settings)
        except SettingsError as error:
            other = [str(error)]
    if other:
        raise incompatible_run(folder, ", ".join(other))


def incompatible_run(folder: Path, other: str) -> RunFolderError:
    """What to say of a run that was begun with other settings, or another text."""
    back = ""
    if other.startswith(("text of", "data.corpus")):
        back = "give it its text again, or "
    elif not other.startswith("words, "):
        back = f"go on with --config {folder / layout.SETTINGS} --out {folder} --resume, or "
    return RunFolderError(
        f"{folder}: this run was started with other {other}: {back}train another with --out or --overwrite"
    )


class SavedRun:
    """The folder of one run; to be used under its lock."""

    def __init__(self, folder: Path, settings: Settings, data: PreparedData, overwrite: bool) -> None:
        self.folder = folder
        self.overwrite = overwrite
        self.fresh = overwrite or not (folder / layout.CHECKPOINT).exists()
        self.settings = settings
        self.tokenizer = data.tokenizer
        self.identity = identity(settings, data)
        self.words = len(data.train)

    def begin(self, now: RunState) -> None:
        """Bring the run to where its checkpoint is, or save its start. Raises `RunFolderError`, `SaveError`."""
        if self.fresh:
            self._save(now)
        else:
            self.restore(self.folder / layout.CHECKPOINT, now)
        if self.overwrite:  # not before there was room for the new run; the model stays until there is another
            run_folder.clear(self.folder, but=(layout.CHECKPOINT, *layout.MODEL_FILES))
        (self.folder / layout.RESULT).unlink(missing_ok=True)  # is of what was there
        write_text(self.folder / layout.SETTINGS, yaml.safe_dump(to_dict(self.settings), sort_keys=False))
        self.metrics = Metrics(self.folder, now.position.metrics_length)

    def begin_invocation(self, now: RunState) -> None:
        """Note what computes from here on. Raises `SaveError`."""
        where = {"epoch": now.position.epoch, "window": now.position.window}
        begin_invocation(self.folder, self.fresh, now.device, where)

    def __enter__(self) -> None:
        """Begun."""

    def __exit__(self, *error: object) -> None:
        self.metrics.close()

    def checkpoint(self, now: RunState) -> None:
        """Save everything that decides what comes next."""
        now.position.metrics_length = self.metrics.length
        self._save(now)

    def _save(self, now: RunState) -> None:
        record = {"position": asdict(now.position), "identity": self.identity}
        checkpoint.save(self.folder / layout.CHECKPOINT, now.tensors(), record)

    def restore(self, path: Path, now: RunState) -> None:
        """Take everything back. Raises `RunFolderError` where the settings or the text are not the run's."""
        tensors, record = checkpoint.load(path)
        with checkpoint.wrap_record_errors(path):
            position, before = read_record(record)
            other = difference(before, self.identity)
            if not other:
                check_resumable(tensors, now, position, self.settings.training, self.words)
                now.restore(tensors, position)
        if other:
            raise incompatible_run(self.folder, other)

    def export(self, tensors: Tensors) -> None:
        """Make these parameters the run folder's model."""
        model = run_folder.SavedModel(self.settings, tensors, self.tokenizer, self.identity["texts"])
        run_folder.write_language_model(self.folder, model)
