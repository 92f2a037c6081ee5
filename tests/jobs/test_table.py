"""The queue's table: what it reads in run folders, and what of it is to be seen."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.terminal import on_terminal
from wordtie.errors import RunFolderError
from wordtie.jobs.table import JobProgress, screen, show
from wordtie.runs.metrics import finished_epochs
from wordtie.runs.run_progress import RunProgress


def line(epoch: int, valid: float = 60.0, seconds: float = 10.0) -> str:
    figures = {"epoch": epoch, "train_perplexity": 80.0, "valid_perplexity": valid, "seconds": seconds}
    return json.dumps(figures) + "\n"


def cells(folder: Path, state: str = "running", to_come: int = 0) -> tuple[str, ...]:
    """The row of a run of five epochs."""
    return JobProgress("row", state, RunProgress.from_folder(folder, 5, state == "running", to_come)).cells()


def test_a_number_of_tokens_is_shown_as_a_share(tmp_path: Path) -> None:
    """Validations are within the first epoch, which has not ended for that."""

    def shown(running: bool = True) -> tuple[str, ...]:
        progress = RunProgress.from_folder(tmp_path, 50, running, tokens=2000)
        return JobProgress("row", "running" if running else "ended", progress).cells()[2:]

    assert shown() == ("0 %", "", "", "")
    between = {"epoch": 1, "window": 200, "tokens": 500, "recent_perplexity": 90.0, "seconds": 10.0}
    (tmp_path / "metrics.jsonl").write_text(json.dumps(between) + "\n")
    assert shown() == ("25 %", "", "", "0:00:30")
    validated = {**json.loads(line(1, 60, 20)), "window": 400, "tokens": 1000}
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(validated) + "\n")
    assert shown() == ("50 %", "60.00", "60.00", "0:00:20")
    (tmp_path / "live_progress").write_text("0.6 30.0\n")
    assert shown() == ("75 %", "60.00", "60.00", "0:00:10")
    assert shown(running=False) == ("50 %", "60.00", "60.00", "")


def test_progress_reads_whole_lines_only(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(line(1) + line(2, 70, 20) + '{"ep')
    assert cells(tmp_path) == ("row", "running", "2/5", "70.00", "60.00", "0:00:30")
    assert cells(tmp_path, to_come=4)[-1] == "0:01:10"
    assert cells(tmp_path / "none", "waiting") == ("row", "waiting", "0/5", "", "", "")
    (tmp_path / "metrics.jsonl").write_text("")
    assert finished_epochs(tmp_path) == []


@pytest.mark.parametrize(
    ("written", "finished", "state", "epoch", "left"),
    [
        ("2.5512 25.5", 2, "running", "2.55/5", "0:00:24"),
        ("2.9961 29.9", 2, "running", "2.99/5", "0:00:20"),
        ("3.0 30.0", 2, "running", "3/5", "0:00:20"),
        ("2.55 25.5", 2, "stopped", "2/5", "0:00:30"),
        ("1.55 15.5", 2, "running", "2/5", "0:00:30"),
        ("2.55", 2, "running", "2/5", "0:00:30"),
        ("nan 1", 2, "running", "2/5", "0:00:30"),
        ("0.5 10.0", 0, "running", "0.50/5", "0:01:30"),
        ("0.01 5.0", 0, "running", "0.01/5", ""),
    ],
)
def test_within_an_epoch(written: str, finished: int, state: str, epoch: str, left: str, tmp_path: Path) -> None:
    """What is left, at ten seconds an epoch; at those of the first so far, once that is far enough."""
    (tmp_path / "metrics.jsonl").write_text("".join(line(n, seconds=10.0 * n) for n in range(1, finished + 1)))
    (tmp_path / "live_progress").write_text(f"{written}\n")
    shown = cells(tmp_path, state)
    assert (shown[2], shown[-1]) == (epoch, left)


NO_FIGURES = ('{"epoch": 2, "valid_perp', "", "[]", "2", "{}", line(2).replace("60.0", '"60"'), line(0), "\0\0", "\x80")


@pytest.mark.parametrize("damaged", NO_FIGURES)
def test_a_damaged_line_is_named(damaged: str, tmp_path: Path) -> None:
    content = f"{line(1)}{damaged.strip()}\n{line(3)}"
    (tmp_path / "metrics.jsonl").write_bytes(content.encode("latin-1"))
    with pytest.raises(RunFolderError, match=r"metrics\.jsonl, line 2: damaged, .*: take the file from a copy"):
        finished_epochs(tmp_path)
    assert cells(tmp_path) == ("row", "running", "damaged", "", "", "")


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").mkdir()
    with pytest.raises(RunFolderError, match=r"metrics\.jsonl: cannot be read \(Is a directory\)"):
        finished_epochs(tmp_path)


def test_perplexities_that_mean_nothing_are_short(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(line(1, 1e304))
    assert cells(tmp_path)[3:5] == ("1e+304", "1e+304")


STATES = ["ended"] * 12 + ["running"] * 2 + ["failed"] + ["waiting"] * 18


def group(states: list[str], name: str = "paper/table-1/{}") -> list[JobProgress]:
    run = RunProgress(3, 40, 121.3, 120.0, 600.0)
    return [
        JobProgress(name.format(number), state, run, message="no text" if state == "failed" else "")
        for number, state in enumerate(states)
    ]


def test_what_runs_and_the_time_left_are_to_be_seen() -> None:
    assert screen(group(STATES), 3723.5, 80, 24) == [
        "paper/table-1/  epoch  validation    best  time left",
        "12               3/40      121.30  120.00    0:10:00",
        "13               3/40      121.30  120.00    0:10:00",
        "failed: 14: no text",
        "2 running, 18 waiting, 12 ended, 1 failed; 1:02:03 of this call left",
    ]
    assert screen(group(["ended"] * 3), float("inf"), 80, 24) == ["3 ended"]


@pytest.mark.parametrize("states", [STATES, ["running"] * 33, ["failed"] * 33, ["running", "failed"] * 17])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (50, 9)])
def test_it_fits(states: list[str], width: int, height: int) -> None:
    shown = screen(
        group(states, "paper/table-1/a-model-whose-name-is-longer-than-a-narrow-window-{}"), 60, width, height
    )
    assert len(shown) <= height
    assert max(map(len, shown)) <= width
    assert " ".join(shown).endswith("0:01:00 of this call left")
    left_out = sum(int(line.split()[2]) for line in shown if line.startswith("…") and " more " in line)
    lines = [line for line in shown[1:] if "120.00" in line or line.startswith("failed: ")]
    assert len(lines) + left_out == sum(state in ("running", "failed") for state in states)


def test_names_are_told_apart() -> None:
    shown = screen(group(["running"] * 2, f"{'a' * 90}-{{}}/x"), 60, 80, 24)
    assert shown[1].split()[0].endswith("a-0/x")
    assert shown[2].split()[0].endswith("a-1/x")


SHOWS = """
from wordtie.jobs.table import JobProgress, show
from wordtie.runs.run_progress import RunProgress
with show() as table:
    for epoch in (1, 2):
        table([JobProgress(f"paper/{number}", "running", RunProgress(epoch, 40)) for number in range(33)], 60.0)
"""


def test_on_a_terminal_it_stays_in_its_place() -> None:
    printed = on_terminal(SHOWS, 80)
    assert "\x1b[1A" in printed, "the second time goes where the first was"
    assert printed.count("33 running; 0:01:00 of this call left") >= 2
    assert "… and 12 more running" in printed
    assert "\n..." not in printed


def test_elsewhere_there_are_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with show() as table:
        table(group(["running", "failed", "waiting"]), 60)
        table(group(["running", "failed", "waiting"]), 59)
    assert capsys.readouterr().err.splitlines() == [
        "paper/table-1/0  running  epoch 3/40  validation 121.30  best 120.00  time left 0:10:00",
        "paper/table-1/1  failed  epoch 3/40  validation 121.30  best 120.00  no text",
    ]


def test_the_runs_go_on_where_nobody_reads_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    gone_on: list[str] = []
    read, write = os.pipe()
    os.close(read)
    with suppress(BrokenPipeError), os.fdopen(write, "w", 1) as unread:  # closing it tries once more
        monkeypatch.setattr(sys, "stderr", unread)
        with pytest.raises(BrokenPipeError):
            print("nobody", file=sys.stderr)
        with show() as table:
            for state in ("running", "failed"):
                table(group([state]), 60)
                gone_on.append(state)
    assert gone_on == ["running", "failed"]
