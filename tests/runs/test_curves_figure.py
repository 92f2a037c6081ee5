"""The figure of curves: drawn from what was read, the same each time, and readable without colours."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

from wordtie.errors import RunFolderError, UsageError
from wordtie.runs.curves import Curves, Point
from wordtie.runs.curves_figure import COLOURS, _look, _short_names, draw_curves


def point(epoch: int, tokens: int | None, valid: float | None, loss: float | None) -> Point:
    return {
        "epoch": epoch, "window": None, "tokens": tokens, "seconds": 2.0 * epoch, "loss": loss, "epoch_loss": 4.0,
        "valid_perplexity": valid, "valid_bleu": None, "rate": 0.1 / epoch, "words_per_second": 1000.0 * epoch,
    }  # fmt: skip


def run(name: str, tokens: bool = True, points: int = 5) -> Curves:
    found = [point(n, 1000 * n if tokens else None, 900 / n, 5.0 - n / 9) for n in range(1, points + 1)]
    return {"folder": name, "state": "finished", "why": "", "points": found, "live": None}


def texts(path: Path) -> str:
    """matplotlib draws text as outlines, and keeps it in comments."""
    return "\n".join(re.findall(r"<!-- (.*?) -->", path.read_text()))


def test_panels_and_names(tmp_path: Path) -> None:
    live: Curves = {**run("runs/b"), "state": "running",
                    "live": {"epochs": 1.5, "seconds": 30.0, "share": 0.5, "seconds_left": 90.0}}  # fmt: skip
    for name in ("one.svg", "again.svg"):
        draw_curves([run("runs/a"), live], tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()
    shown = texts(tmp_path / "one.svg").splitlines()
    titles = ("training loss, nats per word", "validation perplexity", "learning rate", "words per second")
    for text in (*titles, "a", "b (running, 50 %, 0:01:30 left)", "training words, millions"):
        assert text in shown
    drawn = (tmp_path / "one.svg").read_text()
    assert all(COLOURS[number] in drawn for number in (0, 1))
    assert COLOURS[2] not in drawn


@pytest.mark.parametrize("suffix", ["png", "pdf"])
def test_other_formats(tmp_path: Path, suffix: str) -> None:
    draw_curves([run("a")], tmp_path / f"figure.{suffix}")
    assert (tmp_path / f"figure.{suffix}").read_bytes()[:4] in (b"\x89PNG", b"%PDF")


def test_runs_that_do_not_count_words_are_drawn_against_seconds(tmp_path: Path) -> None:
    draw_curves([run("a"), run("b", tokens=False)], tmp_path / "figure.svg")
    assert "seconds" in texts(tmp_path / "figure.svg").splitlines()
    with pytest.raises(RunFolderError, match=r"^b: does not say how many words were read when: .*--against seconds"):
        draw_curves([run("a"), run("b", tokens=False)], tmp_path / "figure.svg", "tokens")


def test_nothing_to_draw(tmp_path: Path) -> None:
    counted = run("a", points=0)
    with pytest.raises(RunFolderError, match="a: has no curves: it was not trained step by step"):
        draw_curves([counted], tmp_path / "figure.svg")
    with pytest.raises(RunFolderError, match="a: has no curves yet: wait"):
        draw_curves([{**counted, "state": "running"}], tmp_path / "figure.svg")
    with pytest.raises(RunFolderError, match=r"^a/metrics.jsonl: missing"):
        draw_curves([{**counted, "state": "damaged", "why": "a/metrics.jsonl: missing"}], tmp_path / "figure.svg")
    assert not (tmp_path / "figure.svg").exists()
    draw_curves([run("a", points=0), run("b", points=1)], tmp_path / "figure.svg")


def test_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"must end in \.svg, \.png or \.pdf"):
        draw_curves([run("a")], tmp_path / "figure.gif")


def test_runs_differ_without_colour() -> None:
    looks = [{name: value for name, value in _look(number).items() if name != "color"} for number in range(8)]
    assert all(one != other for one, other in combinations(looks, 2))


def test_names_are_without_what_all_share() -> None:
    assert _short_names(["runs/a/seed-1", "runs/b/seed-1"]) == ["a/seed-1", "b/seed-1"]
    assert _short_names(["runs/a"]) == ["runs/a"]
    assert _short_names(["runs/a", "runs/a/../b"]) == ["a", "b"]
