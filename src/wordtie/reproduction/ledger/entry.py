"""Build the ledger's entry of a run: its numbers, and how they were obtained.

`wordtie.reproduction.ledger.ledger` seals and keeps it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Protocol

from wordtie.errors import RunFolderError
from wordtie.reproduction.ledger import ledger
from wordtie.reproduction.ledger.record import About, Curve, Stage
from wordtie.reproduction.papers.row import Row, RowSettings, VectorSettings
from wordtie.runs.layout import INVOCATIONS, METRICS
from wordtie.runs.metrics import finished_epochs
from wordtie.runs.provenance import invocations
from wordtie.runs.result import TrainingResult
from wordtie.storage.strict_json import conform

RESULT = ("precision", "epochs", "best_epoch", "seconds")
SCORES = tuple(f"{split}_{unit}" for split in ("valid", "test") for unit in ("perplexity", "nats", "tokens"))


class Texts(Protocol):
    """Prepared data of any kind."""

    @property
    def texts(self) -> dict[str, str]:
        """SHA-256 of the text of each split."""


def about(row: Row, settings: RowSettings, data: Texts) -> About:
    """Return the part of an entry that identifies its run."""
    seed = settings.word2vec.seed if isinstance(settings, VectorSettings) else settings.training.seed
    return {
        "row": row.name,
        "seed": seed,
        "label": row.label,
        "configuration": ledger.configuration(settings),
        "data": texts(settings, data),
    }


def texts(settings: RowSettings, data: Texts) -> dict[str, str]:
    """The corpus, and the SHA-256 of each split's text."""
    return {"corpus": settings.data.corpus, **data.texts}


def stage_entry(result: TrainingResult, folder: Path, spread: bool = False) -> Stage:
    """Return the numbers of one training stage, and the machines and versions that computed it.

    `spread`: its validations were spread over a number of tokens, rather than one after each epoch.

    Raises `RunFolderError` if the folder lacks its invocations or metrics.
    """
    calls = invocations(folder)
    if not calls:
        raise RunFolderError(f"{folder / INVOCATIONS}: missing, so what trained it is unknown: restore it from a copy")
    used = sorted({call["code_version"] for call in calls})
    machines = list({json.dumps(call["machine"]): call["machine"] for call in calls}.values())
    stage = {
        **{name: calls[-1][name] for name in ("code_version", "torch", "python", "machine")},
        **({"code_versions": used} if len(used) > 1 else {}),
        **({"machines": machines} if len(machines) > 1 else {}),
        **{name: getattr(result, name) for name in (*RESULT, *SCORES, "parameters", "weights_sha256")},
        "curve": curve(folder, result.best_epoch if spread else result.epochs, spread),
    }
    return conform(stage, Stage)


def curve(folder: Path, least: int, spread: bool = False) -> Curve:
    """Return training and validation perplexity of each epoch or, if `spread`, at each validation.

    Raises `RunFolderError` if there are fewer than `least` epochs or validations.
    """
    lines = finished_epochs(folder)
    lines = lines if spread else lines[:least]
    if (len(lines) < least) if spread else ([line["epoch"] for line in lines] != list(range(1, least + 1))):
        what = "validations" if spread else "epochs"
        raise RunFolderError(
            f"{folder / METRICS}: has no line for each of the {least} {what}: take the file from a copy"
        )
    return {
        "train": [round(line["train_perplexity"], 4) for line in lines],
        "valid": [round(line["valid_perplexity"], 4) for line in lines],
    }
