"""What an earlier version wrote can be opened, read and resumed, and is not rewritten.

The files of each commit in `tests/fixtures/` were written by that commit (see the README there). The numbers are
compared up to rounding, because machines round differently; `scripts/check-golden` compares bits on one machine.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import wordtie
from tests.commands import Capture, output, rows

FIXTURES = Path(__file__).parent / "fixtures"
LIST = ["reproduce", "list", "--json"]
CLOSE = 1e-5
"""Of what a given model computes, relative."""
ENTRIES = sorted(path.name for path in (FIXTURES / "8696be2" / "ledger").rglob("*.json"))


@pytest.fixture(params=["8696be2"])
def older(request: pytest.FixtureRequest, own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what a commit wrote, as the current folder: its runs name their text relative to it."""
    folder = own_folder / "older"
    shutil.copytree(FIXTURES / request.param, folder)
    monkeypatch.chdir(folder)
    return folder


def result(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "result.json").read_text())
    return found


def contents(folder: Path) -> dict[str, str]:
    """SHA-256 of every file."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("split", ["valid", "test"])
def test_a_language_model_has_the_perplexity_that_was_measured(older: Path, split: str, capsys: Capture) -> None:
    found = json.loads(output(["evaluate", "finished", "--split", split, "--json"], capsys))
    then = result(older / "finished")
    assert found["tokens"] == then[f"{split}_tokens"]
    assert found["perplexity"] == pytest.approx(then[f"{split}_perplexity"], rel=CLOSE)


def test_a_language_model_gives_the_surprisals_it_gave(older: Path, capsys: Capture) -> None:
    found = rows(output(["surprisal", "finished", "text/test.txt", "--reset", "never"], capsys))
    then = rows((older / "expected" / "surprisal.tsv").read_text())
    assert [row["word"] for row in found] == [row["word"] for row in then]
    bits, bits_then = ([float(row["surprisal_bits"]) for row in table] for table in (found, then))
    assert bits == pytest.approx(bits_then, rel=1e-3)  # printed with few digits
    assert sum(bits) == pytest.approx(result(older / "finished")["test_nats"] / math.log(2), rel=1e-3)


def test_a_run_of_word2vec_gives_the_vectors_it_gave(older: Path, capsys: Capture) -> None:
    output(["vectors", "word2vec", "--out", "now.txt"], capsys)
    found, then = (path.read_text().splitlines() for path in (older / "now.txt", older / "expected" / "word2vec.txt"))
    assert found[0] == then[0]
    vectors: list[list[list[str]]] = [[line.split() for line in lines[1:]] for lines in (found, then)]
    assert [line[0] for line in vectors[0]] == [line[0] for line in vectors[1]]
    numbers, numbers_then = (np.array([line[1:] for line in lines], np.float64) for lines in vectors)
    np.testing.assert_allclose(numbers, numbers_then, rtol=CLOSE)


def test_opening_rewrites_nothing(older: Path, capsys: Capture) -> None:
    before = contents(older)
    output(["evaluate", "finished"], capsys)
    output(["predict", "finished", "the cat"], capsys)
    output(["vectors", "word2vec", "--neighbours", "cat"], capsys)
    output([*LIST, "--results", "ledger", "--runs", "none"], capsys)
    assert contents(older) == before


@pytest.mark.parametrize("file", ENTRIES)
def test_rows_of_the_ledger_are_done(older: Path, file: str, capsys: Capture) -> None:
    entry = json.loads(next((older / "ledger").rglob(file)).read_text())
    listed = {row["row"]: row for row in json.loads(output([*LIST, "--results", "ledger", "--runs", "none"], capsys))}
    row = listed[entry["row"]]
    assert row["status"] in ("run", "reached")
    assert (row["seeds"], row["parameters"]) == ([entry["seed"]], entry["parameters"])
    assert (row["ours_valid"], row["ours"]) == (entry["valid_perplexity"], entry["test_perplexity"])


def test_an_interrupted_training_ends_as_the_uninterrupted_one(older: Path, capsys: Capture) -> None:
    interrupted, finished = older / "interrupted", older / "finished"
    assert result(interrupted)["stopped"] == "max_time"
    before = wordtie.load(interrupted).network.state_dict()
    calls = len((interrupted / "sessions.jsonl").read_text().splitlines())
    output(["train", "--config", "finished/settings.yaml", "--out", "interrupted", "--resume"], capsys)
    found, then = (wordtie.load(run).network.state_dict() for run in (interrupted, finished))
    assert found.keys() == then.keys()
    for name, tensor in then.items():
        torch.testing.assert_close(found[name], tensor, rtol=1e-4, atol=1e-5)
        assert not torch.allclose(before[name], tensor, rtol=1e-4, atol=1e-5), "nothing was left to be trained"
    now, once = result(interrupted), result(finished)
    assert (now["stopped"], now["epochs"]) == (once["stopped"], once["epochs"])
    assert now["test_perplexity"] == pytest.approx(once["test_perplexity"], rel=CLOSE)
    assert len((interrupted / "sessions.jsonl").read_text().splitlines()) == calls + 1, "it began again"
