"""`wordtie runs` and `wordtie curves` as a user meets them."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from tests.commands import Capture, output, rows
from tests.tiny_run import TINY, write_text
from wordtie import cli
from wordtie.errors import UsageError
from wordtie.runs.curves import read_curves


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs: `a` of 8 units and `b` of 6."""
    top = tmp_path_factory.mktemp("runs")
    text = str(write_text(top / "text"))
    for name, hidden in (("a", "8"), ("b", "6")):
        arguments = [hidden if before == "--model.hidden" else each for before, each in pairwise(["", *TINY])]
        assert cli.main(["train", text, "--out", str(top / "runs" / name), *arguments]) == 0
    return top / "runs"


def test_runs(trained: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trained.parent)
    printed = rows(output(["runs"], capsys))
    assert [(row["run"], row["state"], row["model.hidden"]) for row in printed] == [
        ("runs/a", "finished", "8"),
        ("runs/b", "finished", "6"),
    ]
    found = json.loads(output(["runs", "runs/b", "--json"], capsys))
    result = json.loads((trained / "b" / "result.json").read_text())
    assert [(each["run"], each["test_perplexity"]) for each in found] == [("runs/b", result["test_perplexity"])]
    assert float(printed[1]["test_perplexity"]) == pytest.approx(result["test_perplexity"], abs=1e-6)
    assert "mixture_test_perplexity" not in printed[0], "no run has one"


def test_runs_that_are_damaged_are_listed_and_explained(trained: Path, tmp_path: Path, capsys: Capture) -> None:
    folder = Path(shutil.copytree(trained, tmp_path / "runs"))
    with (folder / "a" / "model.safetensors").open("ab") as file:
        file.write(b"more")
    capsys.readouterr()
    assert cli.main(["runs", str(folder)]) == 0
    printed = capsys.readouterr()
    assert [row["state"] for row in rows(printed.out)] == ["damaged", "finished"]
    assert printed.err.startswith(f"note: {folder / 'a'}: damaged: {folder / 'a' / 'model.safetensors'}: damaged")
    assert [row["state"] for row in rows(output(["runs", str(folder), "--quick"], capsys))] == ["finished"] * 2


def test_no_runs(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["runs"]) == 4
    assert capsys.readouterr().err == "wordtie: error: runs: no such folder; name the folder that your runs are in\n"
    assert cli.main(["runs", "."]) == 0
    assert capsys.readouterr().err == "note: no runs below .\n"


def test_curves_as_a_table(trained: Path, capsys: Capture) -> None:
    runs = [str(trained / name) for name in ("a", "b")]
    printed = rows(output(["curves", *runs], capsys))
    points = [(run, point) for run in runs for point in read_curves(run)["points"]]
    assert [row["run"] for row in printed] == [run for run, _ in points]
    for row, (_, point) in zip(printed, points, strict=True):
        for name in ("loss", "rate", "valid_perplexity", "seconds"):
            assert float(row[name]) == pytest.approx(point[name], abs=1e-6)
    assert json.loads(output(["curves", *runs, "--json"], capsys)) == [read_curves(run) for run in runs]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--out", "curves.svg", "--json"], "--json prints the points and --out draws them: leave one of them out"),
        (["--against", "seconds"], "--against is for a figure: add --out FIGURE, or leave it out"),
        (["--against", "seconds", "--json"], "--against is for a figure"),
    ],
)
def test_options_of_curves_that_do_not_go_together(
    arguments: list[str], says: str, trained: Path, capsys: Capture
) -> None:
    assert cli.main(["curves", str(trained / "a"), *arguments]) == UsageError.exit_code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert says in printed.err


def test_curves_as_a_figure(trained: Path, tmp_path: Path, capsys: Capture) -> None:
    assert output(["curves", str(trained / "a"), "--out", str(tmp_path / "curves.svg")], capsys) == ""
    assert "<svg" in (tmp_path / "curves.svg").read_text()
    assert cli.main(["curves", str(trained / "a"), "--out", str(tmp_path / "curves.gif")]) == 2
    assert "must end in .svg, .png or .pdf" in capsys.readouterr().err
    assert cli.main(["curves", str(tmp_path / "none")]) == 4
    assert "no such run folder" in capsys.readouterr().err
