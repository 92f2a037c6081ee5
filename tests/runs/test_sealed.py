"""A model is replaced while others read it: they find the old one or the new one, whole, at every moment."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
import torch

import wordtie
from tests.commands import SMALL, small_text
from wordtie import cli
from wordtie.errors import RunFolderError
from wordtie.inference.loading import load
from wordtie.runs import run_folder, sealed
from wordtie.runs.layout import MODEL_FILES, NEXT
from wordtie.runs.run_folder import read_language_model

pytestmark = pytest.mark.usefixtures("own_folder")

WRITER = """
import dataclasses, sys, time
from pathlib import Path
import torch
from wordtie.runs.run_folder import read_language_model, write_language_model

folder, until = Path(sys.argv[1]), time.monotonic() + float(sys.argv[2])
model = read_language_model(folder)
number = 0
print("writing", flush=True)
while time.monotonic() < until:
    number += 1
    tensors = {name: torch.full_like(tensor, number) for name, tensor in model.tensors.items()}
    write_language_model(folder, dataclasses.replace(model, tensors=tensors, texts={"train": str(number)}))
print(number)
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A trained model."""
    small_text(tmp_path / "novel")
    assert cli.main(["train", "novel", *SMALL, "--training.epochs", "1"]) == 0
    return Path("runs", "novel")


def writer(run: Path, seconds: float) -> subprocess.Popen[str]:
    """A process that exports one model after another, each of one number."""
    environment = {**os.environ, "PYTHONPATH": str(Path(wordtie.__file__).parents[1])}
    command = [sys.executable, "-c", WRITER, str(run), str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def number_of(run: Path) -> int:
    """Which model it is; all its files must be of that one."""
    model = read_language_model(run)
    (value,) = {float(value) for tensor in model.tensors.values() for value in (tensor.min(), tensor.max())}
    assert model.texts["train"] == str(int(value))
    return int(value)


def test_a_reader_finds_the_old_model_or_the_new_one(run: Path) -> None:
    process = writer(run, seconds=4)
    found = []
    while process.poll() is None:
        try:
            found.append(number_of(run))
        except ValueError:  # the trained model, before the first of the writer's
            assert not found
    last, _ = process.communicate()
    # a reader may be one ahead of the next: it found the model whole that was about to be moved into place
    assert all(after >= before - 1 for before, after in pairwise(found))
    assert len(found) > 200
    assert len(set(found)) > 5
    assert number_of(run) == int(last)
    assert not (run / NEXT).exists()


def test_a_writer_that_is_killed_leaves_a_whole_model(run: Path) -> None:
    generator = random.Random(1)
    for _ in range(4):
        process = writer(run, seconds=60)
        time.sleep(generator.uniform(0.2, 0.6))
        process.kill()
        process.communicate()
        found = number_of(run)
        with run_folder.locked(run):
            assert not (run / NEXT).exists()
        assert not list(run.glob(".model-*"))
        assert number_of(run) >= found


@pytest.mark.parametrize("moved", range(len(MODEL_FILES) + 1))
def test_every_step_of_an_export_can_be_the_last(moved: int, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = read_language_model(run)
    new = {name: torch.zeros_like(tensor) for name, tensor in before.tensors.items()}
    real, count = sealed.same_file, 0

    def killed(path: Path, other: Path) -> None:
        nonlocal count
        if count == moved:
            raise KeyboardInterrupt
        count += 1
        real(path, other)

    monkeypatch.setattr(sealed, "same_file", killed)
    model = run_folder.SavedModel(before.settings, new, before.tokenizer)
    if moved < len(MODEL_FILES):
        with pytest.raises(KeyboardInterrupt):
            run_folder.write_language_model(run, model)
    else:
        run_folder.write_language_model(run, model)
    monkeypatch.setattr(sealed, "same_file", real)
    expected = new if moved else before.tensors  # before a file has been moved the old model is whole
    assert all(torch.equal(tensor, expected[name]) for name, tensor in read_language_model(run).tensors.items())
    with run_folder.locked(run):
        assert all(torch.equal(tensor, new[name]) for name, tensor in read_language_model(run).tensors.items())
    assert not (run / NEXT).exists()


def test_a_file_system_without_hard_links(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    before = read_language_model(run)
    new = {name: torch.ones_like(tensor) for name, tensor in before.tensors.items()}
    monkeypatch.setattr(Path, "hardlink_to", refused)
    run_folder.write_language_model(run, run_folder.SavedModel(before.settings, new, before.tokenizer))
    assert all(bool((tensor == 1).all()) for tensor in read_language_model(run).tensors.values())


def test_half_of_a_model_on_its_way_is_a_leftover(run: Path) -> None:
    (run / NEXT).mkdir()
    (run / NEXT / "config.json").write_text("{}")
    load(run)
    with run_folder.locked(run):
        assert not (run / NEXT).exists()


def test_damage_is_refused_at_once(run: Path) -> None:
    (run / "config.json").write_text("{}")
    start = time.monotonic()
    with run_folder.locked(run), pytest.raises(RunFolderError, match=r"config\.json: damaged"):
        load(run)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("name", MODEL_FILES)
def test_a_pipe_in_place_of_a_file_does_not_block(name: str, run: Path) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    code = f"from wordtie.cli import main; raise SystemExit(main(['predict', {str(run)!r}, 'the']))"
    environment = {**os.environ, "PYTHONPATH": str(Path(wordtie.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == RunFolderError.exit_code
    assert done.stderr.startswith(f"wordtie: error: {run / name}: cannot be read (not a regular file)")
    assert done.stderr.count("\n") == 1
