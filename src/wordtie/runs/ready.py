"""Models that come with wordtie, named in place of a run folder: `wordtie surprisal en`."""

from __future__ import annotations

from pathlib import Path

from wordtie.config.paths import is_arpa, path_of

FOLDER = Path(__file__).resolve().parents[1] / "ready"
READY = {"en": "English: Wikipedia articles and State of the Union addresses"}
"""Name of each model, and what it was trained on. Each folder has a README.md, the model card."""


def run_path(run: str | Path) -> Path:
    """Return the run folder of this name, or else that of the model of this name that comes with wordtie.

    A folder `en` in the current folder comes first. Raises `SettingsError` for what can be no name.
    """
    path = path_of(run)
    return FOLDER / str(run) if str(run) in READY and not path.exists() else path


def is_ready(run: str | Path) -> bool:
    """Whether this is the name, or the folder, of a model that comes with wordtie."""
    return run_path(run).parent == FOLDER


def names_a_model(run: str) -> bool:
    """Whether an argument names a run folder, a model that comes with wordtie, or an ARPA file; not a text."""
    return run_path(run).is_dir() or is_arpa(run)
