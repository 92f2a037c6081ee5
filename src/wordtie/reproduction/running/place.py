"""The folders of the rows' runs and results, the resources of a run, and how a call can end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from wordtie.reproduction.ledger.record import STAGE_SUFFIX
from wordtie.reproduction.papers.row import Row

Outcome: TypeAlias = Literal["done", "already", "stopped"]
"""`done`: finished and entered in the ledger. `already`: entered before. `stopped`: out of time, can be resumed."""


@dataclass(frozen=True)
class Place:
    """The folders of runs and results, and the resources of a run."""

    runs: Path = Path("runs")
    results: Path = Path("results")
    threads: int = 1
    max_seconds: float = math.inf
    again: bool = False
    """Whether to train again what was trained by another version of the code, or with other settings."""

    def folder(self, row: Row, seed: int, stage: int = 1) -> Path:
        """Return the run folder of a row; each later stage has its own folder beside it."""
        return self.runs / f"{row.name}.seed-{seed}{f'{STAGE_SUFFIX}{stage}' if stage > 1 else ''}"
