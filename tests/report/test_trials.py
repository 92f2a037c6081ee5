from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import commands
from tests.training.conftest import TINY, write_text
from wordtie.cli import main
from wordtie.errors import RunFolderError
from wordtie.report import trials


def train(out: Path, text: Path, *more: str) -> Path:
    assert main(["train", str(text), "--out", str(out), *TINY, *more]) == 0
    return out


def test_a_row_says_what_a_trial_changed_and_how_it_went(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = write_text(tmp_path / "text")
    first = train(tmp_path / "first", text)
    second = train(tmp_path / "second", text, "--training.clip", "2.5", "--training.epochs", "1")
    capsys.readouterr()
    trials.main([str(first), str(second)])
    rows = commands.rows(capsys.readouterr().out)
    assert [row["changed"] for row in rows] == ["-", "training.clip=2.5"]
    curve = [json.loads(line)["valid_perplexity"] for line in (first / "metrics.jsonl").read_text().splitlines()]
    assert [float(rows[0][f"epoch {n}"]) for n in (1, 2, 3)] == pytest.approx(curve, abs=0.005)
    assert rows[1]["epoch 2"] == ""


def test_a_folder_without_an_epoch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="not a run folder"):
        trials.trials([tmp_path])
