"""A row small enough to be trained in a test, and a place for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import small_text
from wordtie.reproduction.papers.registry import ROWS
from wordtie.reproduction.papers.row import Published, Row
from wordtie.reproduction.running.run_row import Place


@pytest.fixture
def place(own_folder: Path) -> Place:
    return Place(Path("runs"), Path("results"))


@pytest.fixture
def row(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Row:
    """The row `tests/table-1/small`, of a text beside it, known by its name."""
    changes = {
        "data.corpus": str(small_text(tmp_path / "text")),
        "model.hidden": 6,
        "training.epochs": 2,
        "training.streams": 2,
        "training.steps": 5,
    }
    row = Row("tests/table-1/small", "small, with <unk>", Published(20.0, 20.0), changes)
    monkeypatch.setitem(ROWS, row.name, row)
    return row
