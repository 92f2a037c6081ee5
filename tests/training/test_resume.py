"""Kill a run at any moment and give the same command again: the weights end in the same bits."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.tiny_run import TINY
from tests.training.forked import run, start
from wordtie.runs import checkpoint
from wordtie.runs.layout import CHECKPOINT

KILLS_OF_EACH_KIND = 6
"""In each of two tests: 24 in all, half of them while a checkpoint is being written."""


def command(text: Path, out: str, *more: str) -> list[str]:
    return ["train", str(text), "--out", out, *TINY, *more]


def finished(text: Path, out: str, *more: str) -> dict[str, Any]:
    code, output = run(command(text, out, *more), text.parent)
    assert code == 0, output
    result: dict[str, Any] = json.loads((text.parent / out / "result.json").read_text())
    return result


def metrics(folder: Path) -> list[dict[str, float]]:
    """Of each epoch; what depends on the clock is left out."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in row.items() if not name.endswith("seconds")} for row in rows]


def temporary(folder: Path) -> list[str]:
    """What a kill in the middle of saving leaves behind."""
    return [str(path) for path in folder.rglob(".*") if path.name != ".lock"]


def kill(process: ForkServerProcess) -> bool:
    """Whether there was still something to kill."""
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


def wait_for_a_checkpoint(process: ForkServerProcess, path: Path) -> None:
    before = path.stat().st_mtime_ns if path.exists() else 0
    while process.is_alive() and (not path.exists() or path.stat().st_mtime_ns == before):
        time.sleep(0.001)


def kill_at_random(process: ForkServerProcess, checkpoint: Path, generator: random.Random) -> bool:
    wait_for_a_checkpoint(process, checkpoint)
    time.sleep(generator.uniform(0, 0.05))
    return kill(process)


def kill_while_saving(process: ForkServerProcess, checkpoint: Path, generator: random.Random) -> bool:
    """Let some checkpoints pass, and kill while the file of the next one is being written; whether it was."""
    wait_for_a_checkpoint(process, checkpoint)
    passing, seen = generator.randint(0, 4), ""
    while process.is_alive():
        files = os.listdir(checkpoint.parent)  # noqa: PTH208 (quick: a checkpoint is written in a millisecond or two)
        stage = next((name for name in files if name.startswith(".last")), seen)
        if stage != seen and passing == 0:
            break
        passing -= stage != seen
        seen = stage
    return kill(process) and bool(temporary(checkpoint.parent))


def test_what_is_taken_back_lies_as_torch_lays_it(tmp_path: Path) -> None:
    """Seen in the file, at a place that hangs on the length of its header, a state gave products other last bits."""
    path = tmp_path / "last.safetensors"
    for padding in range(16):
        checkpoint.save(path, {"state": torch.ones(4, 9), "model": torch.ones(3)}, {"padding": "x" * padding})
        tensors, _ = checkpoint.load(path)
        assert [tensor.data_ptr() % 64 for tensor in tensors.values()] == [0, 0]


def test_a_budget_that_ends_within_an_epoch_survives_kills(text: Path) -> None:
    """A cosine over 2.3 epochs with warm-up and validations within them: rates and validations as if never killed."""
    folder, generator = text.parent, random.Random(3)
    words = sum(len(line.split()) + 1 for line in (text / "train.txt").read_text().splitlines())
    settings = ["--schedule", "cosine", "--warmup", "9", "--tokens", str(int(2.3 * words)), "--validations", "5"]
    settings += ["--optimiser", "adam", "--lr", "0.01", "--training.checkpoint_every", "7"]
    whole = finished(text, "whole", *settings)
    assert 2.2 < whole["epochs_trained"] < 2.4
    assert len([row for row in metrics(folder / "whole") if "valid_perplexity" in row]) == 5
    resume = command(text, "killed", *settings, "--resume")
    for _ in range(KILLS_OF_EACH_KIND):
        while not kill_at_random(start(resume, folder), folder / "killed" / CHECKPOINT, generator):
            assert not (folder / "killed" / "result.json").exists(), "the run came to its end too soon"
    killed = finished(text, "killed", *settings, "--resume")
    assert killed["weights_sha256"] == whole["weights_sha256"]
    assert metrics(folder / "killed") == metrics(folder / "whole")


@pytest.mark.parametrize(("optimiser", "softmax"), [("sgd", "full"), ("adam", "sampled")])
def test_killed_runs_end_in_the_same_bits(text: Path, optimiser: str, softmax: str) -> None:
    folder, generator = text.parent, random.Random(7)
    settings = ["--training.optimiser", optimiser, "--training.lr", "0.1", "--loss.softmax", softmax]
    settings += ["--loss.samples", "20", "--training.word_rate", "2"] if softmax == "sampled" else []
    whole = finished(text, "whole", *settings)
    resume = command(text, "killed", *settings, "--resume")
    ways = [kill_at_random, kill_while_saving] * KILLS_OF_EACH_KIND
    for way in ways:
        while not way(start(resume, folder), folder / "killed" / "checkpoints" / "last.safetensors", generator):
            assert not (folder / "killed" / "result.json").exists(), "the run came to its end too soon"
    killed = finished(text, "killed", *settings, "--resume")
    assert killed["weights_sha256"] == whole["weights_sha256"]
    models = [(folder / run_name / "model.safetensors").read_bytes() for run_name in ("killed", "whole")]
    assert models[0] == models[1]
    assert metrics(folder / "killed") == metrics(folder / "whole")
    assert temporary(folder / "killed") == []
