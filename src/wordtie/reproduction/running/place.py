"""Where the rows' runs and results lie, what a run may use, and how a call of it ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from wordtie.reproduction.ledger.record import STAGE_SUFFIX
from wordtie.reproduction.papers.row import Row

Outcome: TypeAlias = Literal["done", "already", "stopped"]
"""Finished and entered; entered before; out of time, to be resumed."""


@dataclass(frozen=True)
class Place:
    """Where runs and results lie, and what a run may use."""

    runs: Path = Path("runs")
    results: Path = Path("results")
    threads: int = 1
    max_seconds: float = math.inf
    again: bool = False
    """Train again what was trained by another version of the code, or with other settings."""

    def folder(self, row: Row, seed: int, stage: int = 1) -> Path:
        """The run folder of a row; a later stage has its own beside it."""
        return self.runs / f"{row.name}.seed-{seed}{f'{STAGE_SUFFIX}{stage}' if stage > 1 else ''}"
