"""What a resumed run already has: the settings that a plan or the recipe chose, and the order of its n-grams.

A plan times the machine, so another plan would be another run. A resumed run therefore keeps its first plan.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wordtie.config import to_dict
from wordtie.config.recommended import BUDGET, RECOMMENDED
from wordtie.runs.compatibility import recorded_settings
from wordtie.runs.provenance import invocations
from wordtie.runs.run_folder import check_free
from wordtie.training.run_writer import checkpointed_settings, noted_at_checkpoint


def planned_before(folder: Path) -> dict[str, Any]:
    """Return the settings that a plan or the recipe chose for the run in the folder, by full name; empty without a run.

    Raises `RunFolderError` for a run that cannot be resumed.
    """
    check_free(folder, "resume")  # first: the settings may be those of another kind of run
    settings = checkpointed_settings(folder) or recorded_settings(folder)  # the checkpoint is written first
    sections = {} if settings is None else to_dict(settings)
    values = {f"{section}.{name}": value for section, names in sections.items() for name, value in names.items()}
    return {name: value for name, value in values.items() if name in (*RECOMMENDED, *BUDGET)}


def order_before(folder: Path, otherwise: int | None) -> int | None:
    """Return the order of the n-gram model to mix into the run; `otherwise` if it was not recorded.

    A run that was killed early has a checkpoint, but has not recorded its invocation. Raises `RunFolderError`.
    """
    calls = invocations(folder)
    noted = calls[-1] if calls else noted_at_checkpoint(folder)
    return noted.get("ngram", otherwise)
