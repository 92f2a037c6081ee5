"""The queue's table: what it reads in run folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wordtie.errors import RunFolderError
from wordtie.training.queue_table import Progress, finished_epochs


def line(epoch: int, valid: float = 60.0, seconds: float = 10.0) -> str:
    figures = {"epoch": epoch, "train_perplexity": 80.0, "valid_perplexity": valid, "seconds": seconds}
    return json.dumps(figures) + "\n"


def test_progress_reads_whole_lines_only(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(line(1) + line(2, 70, 20) + '{"ep')
    progress = Progress.of("row", "running", tmp_path, 5)
    assert progress.cells() == ("row", "running", "2/5", "70.00", "60.00", "0:00:30")
    assert Progress.of("row", "waiting", tmp_path / "none", 5).cells() == ("row", "waiting", "0/5", "", "", "")
    (tmp_path / "metrics.jsonl").write_text("")
    assert finished_epochs(tmp_path) == []


NO_FIGURES = ('{"epoch": 2, "valid_perp', "", "[]", "2", "{}", line(2).replace("60.0", '"60"'), line(0), "\0\0", "\x80")


@pytest.mark.parametrize("damaged", NO_FIGURES)
def test_a_damaged_line_is_named(damaged: str, tmp_path: Path) -> None:
    content = f"{line(1)}{damaged.strip()}\n{line(3)}"
    (tmp_path / "metrics.jsonl").write_bytes(content.encode("latin-1"))
    with pytest.raises(RunFolderError, match=r"metrics\.jsonl, line 2: damaged, .*, or remove the line"):
        finished_epochs(tmp_path)
    assert Progress.of("row", "running", tmp_path, 5).cells() == ("row", "running", "damaged", "", "", "")


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").mkdir()
    with pytest.raises(RunFolderError, match=r"metrics\.jsonl: cannot be read \(Is a directory\)"):
        finished_epochs(tmp_path)


def test_perplexities_that_mean_nothing_are_short(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(line(1, 1e304))
    assert Progress.of("row", "running", tmp_path, 5).cells()[3:5] == ("1e+304", "1e+304")
