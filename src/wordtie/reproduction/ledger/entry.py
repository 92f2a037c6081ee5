"""What an entry of the ledger says of a run: how its numbers came about, and the numbers.

`wordtie.reproduction.ledger.ledger` seals and keeps it.
"""

from __future__ import annotations

import json
from pathlib import Path

from wordtie.config import Settings
from wordtie.data.token_file import PreparedData
from wordtie.errors import RunFolderError
from wordtie.reproduction.ledger import ledger
from wordtie.reproduction.ledger.ledger import Entry
from wordtie.reproduction.papers.row import Row
from wordtie.runs.layout import METRICS, SESSIONS
from wordtie.runs.metrics import finished_epochs
from wordtie.runs.provenance import machine, sessions, versions
from wordtie.runs.result import TrainingResult

RESULT = ("precision", "epochs", "best_epoch", "seconds")
SCORES = tuple(f"{split}_{unit}" for split in ("valid", "test") for unit in ("perplexity", "nats", "tokens"))


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
    return {"corpus": settings.data.corpus, **data.texts}


def stage_entry(result: TrainingResult, folder: Path) -> Entry:
    """The numbers of one training session, and the machines and versions it was computed with.

    Raises `RunFolderError` where the folder no longer says which.
    """
    calls = sessions(folder)
    if not calls:
        raise RunFolderError(f"{folder / SESSIONS}: missing, so what trained it is unknown: restore it from a copy")
    used = sorted({call["code_version"] for call in calls})
    machines = list({json.dumps(call["machine"]): call["machine"] for call in calls}.values())
    return {
        **{name: calls[-1][name] for name in ("code_version", "torch", "python", "machine")},
        **({"code_versions": used} if len(used) > 1 else {}),
        **({"machines": machines} if len(machines) > 1 else {}),
        **{name: getattr(result, name) for name in (*RESULT, *SCORES, "parameters", "weights_sha256")},
        "curve": curve(folder, result.epochs),
    }


def curve(folder: Path, epochs: int) -> dict[str, list[float]]:
    """Training and validation perplexity of each epoch. Raises `RunFolderError` where not all of them are there."""
    lines = finished_epochs(folder)[:epochs]
    if [line["epoch"] for line in lines] != list(range(1, epochs + 1)):
        raise RunFolderError(
            f"{folder / METRICS}: has no line for each of the {epochs} epochs: take the file from a copy"
        )
    return {name: [round(line[f"{name}_perplexity"], 4) for line in lines] for name in ("train", "valid")}
