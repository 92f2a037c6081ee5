"""Stop by time, by a signal, by a full disk, by numbers that are none: what there was stays, and --resume resumes."""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.tiny_run import TINY, write_text
from tests.training.forked import run, start
from wordtie import cli
from wordtie.errors import DivergedError, SaveError
from wordtie.runs import checkpoint

LARGER = ["--model.hidden", "64"]
"""So that model and checkpoint are larger than anything else that is written."""


def train(out: str, *more: str) -> list[str]:
    return ["train", "text", "--out", out, *TINY, *more]


def sha256(folder: Path) -> str:
    result: dict[str, str] = json.loads((folder / "result.json").read_text())
    return result["weights_sha256"]


def no_room() -> None:
    """A disk with room for small files alone."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))


def nobody() -> None:
    """A user who may read and not write."""
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)


def test_stopping_by_time_changes_nothing(text: Path) -> None:
    folder = text.parent
    short = ["--training.checkpoint_every", "50"]
    assert run(train("whole", *short), folder)[0] == 0
    for _ in range(3):  # each call trains on one window at least, however slow it is to start
        code, output = run(train("parts", *short, "--resume", "--training.max_time", "0.1s"), folder)
        assert code == 0, output
        assert json.loads((folder / "parts" / "result.json").read_text())["stopped"] == "max_time"
    assert run(["predict", "parts", "w1", "--top", "1"], folder)[0] == 0
    assert run(train("parts", *short, "--resume"), folder)[0] == 0
    assert sha256(folder / "parts") == sha256(folder / "whole")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_stop_cleanly(text: Path, number: int, code: int) -> None:
    folder = text.parent
    process = start(train("run", "--training.epochs", "999", "--training.patience", "0"), folder)
    while not (folder / "run" / "manifest.json").exists():
        assert process.is_alive()
        time.sleep(0.01)
    assert process.pid is not None
    os.kill(process.pid, number)
    process.join()
    assert process.exitcode == code
    assert "--resume resumes" in (folder / "output").read_text()
    assert "Traceback" not in (folder / "output").read_text()
    assert [path.name for path in (folder / "run").rglob(".*")] == [".lock"]
    assert run(["predict", "run", "w1"], folder)[0] == 0


def nobody_reads() -> None:
    """A pipe whose other end has left, as after `wordtie train ... 2>&1 >result | head`."""
    read, write = os.pipe()
    os.close(read)
    os.dup2(write, 2)


def test_training_goes_on_where_nobody_reads_what_it_says(text: Path) -> None:
    folder = text.parent
    assert run(train("whole"), folder)[0] == 0
    assert run(train("unread"), folder, nobody_reads)[0] == 0
    assert sha256(folder / "unread") == sha256(folder / "whole")


def test_a_full_disk_loses_nothing(text: Path) -> None:
    folder = text.parent
    stop = ["--training.epochs", "1"]
    assert run(train("run", *LARGER, *stop), folder)[0] == 0
    before = {
        name: (folder / "run" / name).read_bytes() for name in ("model.safetensors", "checkpoints/last.safetensors")
    }
    code, output = run(train("run", *LARGER, "--resume"), folder, no_room)
    assert code == SaveError.exit_code, output
    assert output.splitlines()[-1].startswith("wordtie: error: run/checkpoints/last.safetensors: cannot be written")
    assert {name: (folder / "run" / name).read_bytes() for name in before} == before
    assert run(["predict", "run", "w1"], folder)[0] == 0
    assert run(train("run", *LARGER, "--resume"), folder)[0] == 0
    assert run(train("whole", *LARGER), folder)[0] == 0
    assert sha256(folder / "run") == sha256(folder / "whole")


@pytest.mark.parametrize("command", ["train", "word2vec"])
def test_a_full_disk_while_a_run_is_replaced(text: Path, command: str) -> None:
    """What is asked to be replaced is there until there is something in its place."""
    folder = text.parent
    call = train("run", *LARGER) if command == "train" else ["word2vec", text.name, "--out", "run"]
    assert run(call, folder)[0] == 0
    before = {path.name: path.read_bytes() for path in (folder / "run").iterdir() if path.is_file()}
    code, output = run([*call, "--overwrite"], folder, no_room)
    assert code == SaveError.exit_code, output
    assert {name: (folder / "run" / name).read_bytes() for name in before} == before
    assert run([*call, "--overwrite"], folder)[0] == 0


def test_time_is_over_between_epochs_too(text: Path) -> None:
    """A short text is an epoch of one window, after which nobody looked at the clock."""
    whole = ["--training.streams", "100", "--training.steps", "1000", "--training.epochs", "9999"]
    code, output = run(train("run", *whole, "--training.patience", "0", "--training.max_time", "0.5s"), text.parent)
    assert code == 0, output
    assert json.loads((text.parent / "run" / "result.json").read_text())["stopped"] == "max_time"


def test_a_full_disk_while_the_model_is_exported(text: Path) -> None:
    folder = text.parent
    stop = ["--training.epochs", "1"]
    assert run(train("run", *LARGER, *stop), folder)[0] == 0
    before = (folder / "run" / "model.safetensors").read_bytes()
    code, output = run(train("run", *LARGER, *stop, "--resume"), folder, no_room)  # only the model is left to write
    assert code == SaveError.exit_code, output
    assert output.splitlines()[-1].startswith("wordtie: error: run: cannot be written")
    assert (folder / "run" / "model.safetensors").read_bytes() == before
    assert run(["predict", "run", "w1"], folder)[0] == 0


def open_to_all(path: Path) -> bool:
    """Whether every folder on the way to the path lets everyone in."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents)


@pytest.mark.skipif(
    os.getuid() == 0 and not all(open_to_all(Path(each)) for each in (sys.prefix, cli.__file__)),
    reason="root may write everywhere, and another user may not read this environment",
)
def test_a_folder_that_may_not_be_written() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_text(folder / "text")
        for path in (folder, folder / "cache"):
            path.mkdir(exist_ok=True)
            path.chmod(0o777)
        (folder / "locked").mkdir()
        (folder / "locked").chmod(0o555)
        code, output = run(train("locked/run"), folder, nobody)
        assert code == SaveError.exit_code, output
        assert output.startswith("wordtie: error: locked/run: cannot be written (Permission denied)")


def test_a_file_in_the_way(text: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(text.parent)
    (text.parent / "run").write_text("a file")
    assert cli.main(train("run")) == 4
    assert "run: is a file, not a folder: choose another --out" in capsys.readouterr().err


def test_numbers_that_are_none_keep_the_last_good_model(text: Path) -> None:
    folder = text.parent
    rate = ["--training.decay_after", "1", "--training.epochs", "1"]
    assert run(train("run", *rate), folder)[0] == 0
    spoil(folder / "run" / "checkpoints" / "last.safetensors")
    code, output = run(train("run", *rate, "--resume", "--training.epochs", "2"), folder)
    assert code == DivergedError.exit_code, output
    assert output.splitlines()[-1] == (
        "wordtie: error: run: the loss is not a number at epoch 2, window 1; the best validated model is kept. "
        "Try --lr 0.5 or --clip 2.5, in another --out or with --overwrite"
    )
    assert run(["predict", "run", "w1"], folder)[0] == 0


def spoil(path: Path) -> None:
    """Make the weights of a checkpoint as large as a much too high rate would have made them."""
    tensors, record = checkpoint.load(path)
    tensors["model.embedding.weight"] *= 1e38
    checkpoint.save(path, tensors, record)


def test_a_rate_that_is_too_high_says_what_to_try(text: Path) -> None:
    folder = text.parent
    code, output = run(train("run", "--training.lr", "1e38", "--training.clip", "0"), folder)
    assert code == DivergedError.exit_code, output
    assert output.splitlines()[-1].startswith("wordtie: error: run: the loss is not a number at epoch 1, window ")
    assert "no model was validated before. Try --lr 5e+37 or --clip 5, in another --out" in output
