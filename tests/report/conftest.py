"""A row small enough to be trained in a test, and a place for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from wordtie.papers.registry import ROWS
from wordtie.papers.row import Published, Row
from wordtie.report.run_row import Place


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return Place(Path("runs"), Path("results"))


@pytest.fixture
def row(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Row:
    """The row `tests/table-1/small`, of a text beside it, known by its name."""
    text = tmp_path / "text"
    text.mkdir()
    for split, times in (("train", 40), ("valid", 3), ("test", 2)):
        (text / f"{split}.txt").write_text("the cat sat on the mat\nthe dog sat on the cat\n" * times)
    changes = {
        "data.corpus": str(text),
        "model.hidden": 6,
        "training.epochs": 2,
        "training.streams": 2,
        "training.steps": 5,
    }
    row = Row("tests/table-1/small", "small, with <unk>", Published(20.0, 20.0), changes)
    monkeypatch.setitem(ROWS, row.name, row)
    return row
