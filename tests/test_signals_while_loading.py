"""SIGTERM and SIGINT while a command loads its libraries: a documented exit code, no abort, no stack of imports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import wordtie
from tests.commands import SMALL, small_text
from wordtie import cli

pytestmark = pytest.mark.usefixtures("own_folder")

QUIET = {signal.SIGTERM: {""}, signal.SIGINT: {"", "wordtie: interrupted\n"}}
SOURCE = Path(wordtie.__file__).parents[1]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A trained model."""
    small_text(tmp_path / "novel")
    assert cli.main(["train", "novel", *SMALL, "--training.epochs", "1"]) == 0
    return Path("runs", "novel")


def begun(command: list[str]) -> subprocess.Popen[str]:
    """A process that has reached wordtie's own code: what Python does before that is not ours."""
    code = "import os; print(flush=True); from wordtie.__main__ import main; raise SystemExit(main())"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", code, *command], env=environment, text=True, **pipes)  # type: ignore[call-overload]
    process.stdout.readline()
    assert isinstance(process, subprocess.Popen)
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_at_any_moment_ends_a_command_quietly(run: Path, number: signal.Signals) -> None:
    command = ["generate", str(run), "--words", "1"]  # which loads torch
    process, start = begun(command), time.monotonic()
    assert process.communicate()[1] == ""
    whole, moments = time.monotonic() - start, 5
    found = set()
    for moment in range(moments):
        process = begun(command)
        time.sleep(0.1 + whole * moment / moments)
        process.send_signal(number)
        _, err = process.communicate()
        found.add(process.returncode)
        # -number: as Python ends it gives the signals back to the system; a shell sees 128 + number
        assert process.returncode in (128 + number, -number, 0), err
        assert err in QUIET[number]
    assert 128 + number in found


SLOW = """
import pathlib, signal, time
pathlib.Path('loading').touch()
try:
    time.sleep({seconds})
except BaseException as error:
    pathlib.Path('raised').write_text(repr(error))
    raise
"""


@pytest.mark.parametrize(("seconds", "number"), [(0.2, signal.SIGTERM), (30, signal.SIGTERM), (30, signal.SIGINT)])
def test_nothing_is_raised_within_an_import(seconds: float, number: signal.Signals, tmp_path: Path) -> None:
    """A short import is waited for, so that temporary files are removed; a long one is not."""
    Path("slow.py").write_text(SLOW.format(seconds=seconds))
    code = "\n".join(
        [
            "import sys, tempfile, time",
            "from wordtie import cli",
            "from wordtie.training.stop_signals import leaving_by_signals",
            "def command():",
            "    with leaving_by_signals(), tempfile.TemporaryDirectory(dir='.', prefix='left-'):",
            "        import slow",
            "        time.sleep(30)",
            "sys.exit(cli.exit_code_of(command))",
        ]
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), str(tmp_path)])}
    start = time.monotonic()
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True)
    while not Path("loading").exists():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == 128 + number
    assert err == ""
    assert time.monotonic() - start < 20
    assert not Path("raised").exists()
    assert bool(list(Path().glob("left-*"))) == (seconds > 1)
