"""TensorBoard beside `metrics.jsonl`: written where it is installed, done without where it is broken."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from wordtie.runs.metrics import Metrics, finished_epochs

EPOCH = {"epoch": 3, "train_perplexity": 20.0, "valid_perplexity": 30.0, "seconds": 4.0}


def written(folder: Path) -> list[dict[str, float]]:
    metrics = Metrics(folder)
    metrics.open(0)
    metrics.write(**EPOCH)
    metrics.close()
    return finished_epochs(folder)


def test_tensorboard_has_every_figure_at_its_epoch(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    assert written(tmp_path) == [EPOCH]
    board = accumulator.EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    of_run = {name: [(each.step, each.value) for each in board.Scalars(name)] for name in board.Tags()["scalars"]}
    assert of_run == {name: [(3, value)] for name, value in EPOCH.items() if name != "epoch"}


def test_a_broken_tensorboard_costs_no_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(folder: Path) -> None:
        raise RuntimeError("compiled against another NumPy\nsee the manual")

    module = ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = broken  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    assert written(tmp_path) == [EPOCH]
    note = "note: nothing is written for TensorBoard, which does not start here: compiled against another NumPy\n"
    assert capsys.readouterr().err == note
