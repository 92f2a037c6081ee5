"""Benchmarks of a page each, on a tiny text: weights averaged, seeds mixed, rows added once."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from benchmarks import averaging, ensembles, times_kept
from benchmarks.averaging import SHARES, Means
from benchmarks.compared import add_rows
from wordtie.config import DataSettings
from wordtie.runs.result import Position
from wordtie.training.run_state import RunState

TOKENS = 3000


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that both benchmarks know by this name."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    generator = torch.Generator().manual_seed(1)
    for split, lines in (("train", 300), ("valid", 60), ("test", 60)):
        words = torch.randint(0, 20, (lines, 7), generator=generator)
        text = "\n".join(" ".join(f"w{int(word)}" for word in line) for line in words)
        (tmp_path / f"{split}.txt").write_text(f"{text}\n")
    for module in (averaging, ensembles):
        monkeypatch.setitem(module.TEXTS, "tiny", lambda: DataSettings(corpus=str(tmp_path)))


def test_means_are_of_the_last_steps() -> None:
    model = nn.Linear(2, 3)
    state = RunState(model, torch.optim.SGD(model.parameters()), None, Position())  # type: ignore[arg-type]
    means, seen = Means(steps=20), []
    for step in range(20):
        with torch.no_grad():
            model.weight.fill_(float(step))
        means.add(state)
        seen.append(float(step))
    for share in SHARES:
        last = seen[-round(share * 20) :]
        assert torch.allclose(means.of(share)["weight"], torch.tensor(sum(last) / len(last)))


@pytest.mark.usefixtures("tiny")
def test_a_row_of_averages_and_one_of_seeds() -> None:
    row = dict(zip(averaging.COLUMNS, averaging.measure("tiny", TOKENS), strict=True))
    last, *means = (float(row[name]) for name in ("last", *(f"mean of {share:g}" for share in SHARES)))
    assert all(mean == pytest.approx(last, rel=0.2) for mean in means)
    assert means[-1] != last
    row = dict(zip(ensembles.COLUMNS, ensembles.measure("tiny", TOKENS), strict=True))
    one, two, three = (float(row[f"{number} seeds"]) for number in (1, 2, 3))
    assert three == pytest.approx(two, rel=0.2)
    assert two == pytest.approx(one, rel=0.2)


def test_rows_are_added_once(tmp_path: Path) -> None:
    file, asked = tmp_path / "rows.tsv", []

    def row() -> tuple[str, ...]:
        asked.append(1)
        return "ptb", "1", "2.0"

    for _ in range(2):
        add_rows(file, ("text", "tokens", "found"), {("ptb", "1"): row})
    assert file.read_text() == "text\ttokens\tfound\nptb\t1\t2.0\n"
    assert len(asked) == 1


def test_a_text_of_random_words_has_them_all(tmp_path: Path) -> None:
    folder = times_kept.random_text(tmp_path / "text", words=300, length=5000)
    words = [word for split in times_kept.SPLITS for word in (folder / f"{split}.txt").read_text().split()]
    assert len(words) == 5300
    assert len(set(words)) == 300
    assert words.count("w0") > 5 * words.count("w60") > 0


@pytest.mark.usefixtures("tiny")
def test_the_time_that_a_command_takes(tmp_path: Path) -> None:
    row = dict(zip(times_kept.COLUMNS, times_kept.measure(str(tmp_path), "3s"), strict=True))
    assert float(row["given"]) == 3
    assert 1 < float(row["taken"]) < 60
    assert float(row["mixture"]) > 1
