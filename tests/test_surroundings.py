"""What lies around a command: homes, names that are no text, texts that someone writes on, caches without locks."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.commands import SMALL, Capture, output, small_text
from wordtie import cli
from wordtie.config import DataSettings, Settings
from wordtie.data import prepare
from wordtie.training import train as train_module

pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A trained model beside its text `novel`."""
    small_text(tmp_path / "novel")
    assert cli.main(["train", "novel", *SMALL]) == 0
    return Path("runs", "novel")


def test_a_home_is_a_home(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell leaves the tilde of `--out=~/x` as it is."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for option in (["--out=~/v.txt"], ["--picture=~/v.html"]):
        assert cli.main(["vectors", str(run), *option]) == 0
    assert cli.main(["vectors", "~/v.txt", "--neighbours", "the"]) == 0
    (tmp_path / "home" / "results").mkdir()
    assert cli.main(["reproduce", "report", "--results=~/results", "--runs=~/runs"]) == 0
    assert sorted(each.name for each in (tmp_path / "home").iterdir()) == ["results", "runs", "v.html", "v.txt"]
    shutil.copytree(run, tmp_path / "home" / "novel")
    (tmp_path / "home" / "text").write_text("the cat sat\n")
    (tmp_path / "home" / "r.yaml").write_text("model:\n  hidden: 6\n")
    for command in (
        ["evaluate", "~/novel", "~/text"],
        ["surprisal", "~/novel", "~/text"],
        ["compare", str(run), "~/novel", "--text", "~/text"],
        ["subspace", "~/novel", "~/v.txt"],
        ["train", "novel", "--config=~/r.yaml", "--print-config"],
    ):
        assert cli.main(command) == 0, command
    assert cli.main(["subspace", "~/novel"]) == 2, "is tied"
    assert not Path("~").exists()


def test_a_name_that_is_no_text_can_be_shown(run: Path) -> None:
    assert cli.main(["vectors", str(run), "--out", os.fsdecode(b"rom\xe1n.txt")]) == 0
    assert cli.main(["vectors", os.fsdecode(b"rom\xe1n.txt"), "--picture", "map.html"]) == 0
    assert "rom\\udce1n.txt" in Path("map.html").read_text()


def test_the_text_may_be_written_on_while_it_is_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """What is printed at the end is of the text as it was."""
    small_text(tmp_path / "novel")
    expected = output(["train", "novel", *SMALL, "--out", "before"], capsys)
    real = train_module.train

    def and_meanwhile(*arguments: Any, **options: Any) -> Any:
        result = real(*arguments, **options)
        shutil.rmtree("novel")
        return result

    monkeypatch.setattr(train_module, "train", and_meanwhile)
    found = output(["train", "novel", *SMALL, "--out", "after"], capsys)
    assert [line for line in found.splitlines() if "out of the vocabulary" in line] == [
        line for line in expected.splitlines() if "out of the vocabulary" in line
    ]


def test_a_cache_that_cannot_be_locked_is_read_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_text(tmp_path / "novel")

    def no_locks(*_: object) -> NoReturn:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    assert cli.main(["baseline", "novel", "--order", "1"]) == 0
    settings = Settings(data=DataSettings("novel"))
    assert len(prepare.prepare(settings.data).train) > 0
