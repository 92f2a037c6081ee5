"""What a small file or one number could make large: refused with one line, before memory or time is spent on it."""

from __future__ import annotations

import gzip
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import wordtie
from tests.commands import SMALL, Capture, small_text
from wordtie import cli
from wordtie.commands import surprisal
from wordtie.commands._shared import read_lines
from wordtie.config import ModelSettings, Settings, TrainingSettings, from_dict
from wordtie.config.machine import machine_memory
from wordtie.errors import SettingsError
from wordtie.models import memory
from wordtie.models.memory import check_size
from wordtie.ngrams import memory as ngrams_memory

pytestmark = pytest.mark.usefixtures("own_folder")

IN_LITTLE_MEMORY = """
import resource, sys
from wordtie.commands._shared import read_lines
from wordtie.commands.surprisal import lines_with_words
from wordtie.exits import exit_code_of
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + 100_000_000
resource.setrlimit(resource.RLIMIT_AS, (size, size))
sys.exit(exit_code_of(lambda: print(sum(1 for _ in lines_with_words(read_lines(sys.argv[1]), sys.argv[1])))))
"""


def lines_in_little_memory(path: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(wordtie.__file__).parents[1])}
    command = [sys.executable, "-c", IN_LITTLE_MEMORY, path]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_a_small_file_of_very_many_blank_lines() -> None:
    Path("bomb.gz").write_bytes(gzip.compress(b"\n" * 30_000_000))
    done = lines_in_little_memory("bomb.gz")
    expected = "wordtie: error: bomb.gz: begins with more than 10,000,000 blank lines: is it text?\n"
    assert (done.returncode, done.stderr) == (3, expected)


def test_blank_lines_before_the_first_word_are_counted() -> None:
    Path("late.txt").write_text("\n \n" + "the cat\n\nsat\n")
    assert list(surprisal.lines_with_words(read_lines("late.txt"), "late.txt")) == ["", "", "the cat", "", "sat"]


@pytest.mark.parametrize("command", ["train", "word2vec"])
@pytest.mark.parametrize("option", ["--config=/dev/zero", "--data=/dev/zero"])
def test_a_recipe_without_an_end(command: str, option: str, capsys: Capture) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert cli.main([command, option, "--print_config"]) == 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB
    assert capsys.readouterr().err.count("\n") == 1


def test_a_recipe_that_is_too_long(capsys: Capture) -> None:
    Path("long.yaml").write_text("# comment\n" * 10_001)
    assert cli.main(["train", "--config", "long.yaml", "--print_config"]) == 2
    assert capsys.readouterr().err == "wordtie: error: long.yaml: is longer than 100 kB: is it a recipe?\n"


def test_a_recipe_that_is_nested_too_deeply(capsys: Capture) -> None:
    Path("deep.yaml").write_text("model: " + "[" * 50_000)
    assert cli.main(["train", "--config", "deep.yaml", "--print_config"]) == 2
    assert "deep.yaml: not YAML" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["layers", "depth"])
def test_more_layers_than_can_be_built(name: str) -> None:
    with pytest.raises(SettingsError, match=f"model.{name} must be at most 1000, got 100000"):
        from_dict({"model": {name: 100_000}})


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (["train", *SMALL, "--model.hidden", "1000000"], "model.hidden"),
        (["train", *SMALL, "--model.hidden", "20000", "--model.layers", "1000"], "model.layers"),
        (["word2vec", "--word2vec.vector_size", "100000000000", "--data.min_count", "1"], "word2vec.vector_size"),
    ],
)
def test_a_model_that_does_not_fit_is_refused_before_it_is_built(
    command: list[str], hint: str, tmp_path: Path, capsys: Capture
) -> None:
    small_text(tmp_path / "novel")
    start = time.monotonic()
    assert cli.main([command[0], "novel", *command[1:]]) == SettingsError.exit_code
    assert time.monotonic() - start < 30
    err = capsys.readouterr().err.splitlines()[-1]
    assert "GB to be trained, and this machine has" in err
    assert hint in err


def test_moments_of_the_optimiser_take_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ModelSettings(hidden=100)
    parameters = 2 * (4 * 100 * (100 + 100 + 1)) + 1000 * 100
    monkeypatch.setattr(memory, "machine_memory", lambda: 3 * 4 * parameters)
    check_size(Settings(model=model), 1000, torch.device("cpu"))
    with pytest.raises(SettingsError, match=f"a model of {parameters:,} parameters"):
        check_size(
            Settings(model=model, training=TrainingSettings(optimiser="adam", lr=0.001)), 1000, torch.device("cpu")
        )


def test_moments_of_a_translation_model_take_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_memory", lambda: 4 * 4 * 1000)
    memory.check_training(1000, TrainingSettings(optimiser="rmsprop", lr=0.001), "less")
    for settings in (TrainingSettings(optimiser="adadelta"), TrainingSettings(average_patience=1)):
        needed = 1000 if settings.optimiser == "adadelta" else 1001
        with pytest.raises(SettingsError, match=r"a model of 1,00[01] parameters needs"):
            memory.check_training(needed, settings, "less")


def test_n_grams_of_a_baseline_take_memory_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    small_text(tmp_path / "novel")
    monkeypatch.setattr(ngrams_memory, "machine_memory", lambda: 1000)
    assert cli.main(["baseline", str(tmp_path / "novel")]) == SettingsError.exit_code
    assert "take a smaller --order" in capsys.readouterr().err


def test_the_limit_of_a_process_counts() -> None:
    code = (
        "import resource; from wordtie.config.machine import machine_memory; "
        "resource.setrlimit(resource.RLIMIT_AS, (10**9, 10**9)); print(machine_memory())"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(wordtie.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert int(done.stdout) == 10**9 < machine_memory()
