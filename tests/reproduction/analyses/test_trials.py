from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import commands
from tests.tiny_run import TINY, write_text
from wordtie.cli import main
from wordtie.errors import RunFolderError
from wordtie.reproduction.analyses import trials


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


def test_of_a_text_learnt_by_heart_the_end_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = write_text(tmp_path / "text")
    first = train(tmp_path / "first", text, "--model.head", "untied")
    second = train(tmp_path / "second", text, "--model.head", "untied", "--training.epochs", "1")
    capsys.readouterr()
    assert main(["subspace", str(second), "--json"]) == 0
    distance = json.loads(capsys.readouterr().out)["distance"]
    trials.main([str(first), str(second), "--subspace"])
    rows = commands.rows(capsys.readouterr().out)
    assert [row["epochs"] for row in rows] == ["3", "1"]
    assert float(rows[1]["distance"]) == pytest.approx(distance, abs=0.0005)
    last = json.loads((first / "metrics.jsonl").read_text().splitlines()[-1])
    assert float(rows[0]["training perplexity"]) == pytest.approx(last["train_perplexity"], abs=0.005)


def test_a_folder_without_an_epoch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="not a run folder"):
        trials.main([str(tmp_path)])


def test_a_run_of_one_matrix_has_no_distance(tmp_path: Path) -> None:
    tied = train(tmp_path / "tied", write_text(tmp_path / "text"), "--training.epochs", "1")
    with pytest.raises(RunFolderError, match="one word matrix"):
        trials.main([str(tied), "--subspace"])


def test_it_ends_as_commands_do(tmp_path: Path) -> None:
    """One line for what can be mended, none for a reader that has left; its help as it was written."""
    run = train(tmp_path / "run", write_text(tmp_path / "text"), "--training.epochs", "1")
    program = [sys.executable, "-m", "wordtie.reproduction.analyses.trials"]
    ended = subprocess.run([*program, str(tmp_path)], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (4, "")
    assert ended.stderr.endswith("no settings.yaml: not a run folder\n")
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run([*program, str(run)], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (141, "")
    ended = subprocess.run([*program, "--help"], capture_output=True, text=True)
    assert (
        "\n    python -m wordtie.reproduction.analyses.trials RUN [RUN ...] > results/search/NAME.tsv\n" in ended.stdout
    )
