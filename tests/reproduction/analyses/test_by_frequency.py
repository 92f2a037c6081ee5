from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tests import commands
from tests.tiny_run import TINY, write_text
from wordtie.cli import main
from wordtie.errors import DataError, RunFolderError
from wordtie.reproduction.analyses import by_frequency

Capture = pytest.CaptureFixture[str]


def trained(text: Path, run: Path, *more: str) -> Path:
    assert main(["train", str(text), "--out", str(run), *TINY, *more]) == 0
    return run


def test_the_lines_add_up_to_the_perplexity(tmp_path: Path, capsys: Capture) -> None:
    text = write_text(tmp_path / "text")
    runs = [trained(text, tmp_path / "one"), trained(text, tmp_path / "other", "--training.seed", "2")]
    capsys.readouterr()
    by_frequency.main([str(run) for run in runs])
    rows = commands.rows(capsys.readouterr().out)
    for split in ("valid", "test"):
        of_text = [row for row in rows if row["text"] == split]
        shares = np.array([float(row["share"]) for row in of_text])
        assert shares.sum() == pytest.approx(1, abs=1e-3)
        for run in runs:
            nats = float(shares @ [float(row[run.name]) for row in of_text])
            result = json.loads((run / "result.json").read_text())
            assert nats == pytest.approx(math.log(result[f"{split}_perplexity"]), abs=2e-3)


def test_a_line_holds_the_words_from_its_count_to_the_next() -> None:
    counts = np.array([0, 9, 10, 99, 100, 20_000])
    found = list(by_frequency.lines(counts, [np.arange(6.0)]))
    assert found == [(0, 2 / 6, [0.5]), (10, 2 / 6, [2.5]), (100, 1 / 6, [4.0]), (10_000, 1 / 6, [5.0])]


def test_models_of_other_words_are_not_compared(tmp_path: Path, capsys: Capture) -> None:
    text = write_text(tmp_path / "text")
    runs = [trained(text, tmp_path / "one"), trained(text, tmp_path / "fewer", "--data.vocabulary_size", "9")]
    with pytest.raises(DataError, match=r"fewer: has other words than .*one"):
        by_frequency.main([str(run) for run in runs])


@pytest.mark.parametrize("split", ["train", "test"])
def test_a_text_that_has_changed_since_training_is_refused(split: str, tmp_path: Path) -> None:
    text = write_text(tmp_path / "text")
    run = trained(text, tmp_path / "one")
    lines = (text / f"{split}.txt").read_text().splitlines(keepends=True)
    (text / f"{split}.txt").write_text("".join(reversed(lines)))  # of the same words and counts
    changed = r"one: .*text, or how it is cut into words, has changed since training; restore the text from a copy"
    with pytest.raises(RunFolderError, match=changed):
        by_frequency.main([str(run)])
    later = trained(text, tmp_path / "later")
    with pytest.raises(DataError, match=r"one: was trained on another text than .*later"):
        by_frequency.main([str(later), str(run)])


def test_other_words_since_training_are_said_to_be_the_text_s(tmp_path: Path) -> None:
    text = write_text(tmp_path / "text")
    run = trained(text, tmp_path / "one")
    (text / "train.txt").write_text("new words new words\n" * 9 + (text / "train.txt").read_text())
    with pytest.raises(RunFolderError, match=r"one: .*text, or how it is cut into words, has changed since training"):
        by_frequency.main([str(run)])
