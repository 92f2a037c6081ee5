"""What a user waits for before anything happens: the first use of the compiled kernels, and `wordtie predict`.

The goals are absolute, so the alternative of each row is its own goal. Both are measured in new processes.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path

import torch

from benchmarks.harness import Claim, Effort, Measurement, spread
from benchmarks.small_real import SETUP
from benchmarks.steps import fast_contender, windows_of
from wordtie.config import Settings
from wordtie.data.tokenisation import Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.models.language_model import LanguageModel
from wordtie.runs.run_folder import SavedModel, write_language_model

CHECKOUT = Path(__file__).parent.parent
GOAL_COMPILE, GOAL_PREDICT = 10.0, 2.0
"""Seconds."""
PREDICT = "import sys, wordtie.cli; sys.exit(wordtie.cli.main())"


def first_step_wait() -> float:
    """Seconds that the first training step of this process took beyond the third."""
    step = fast_contender(SETUP, cycle(windows_of(SETUP, 3)))
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return seconds[0] - seconds[2]


def python(code: str, *arguments: str, **environment: str) -> str:
    """Run a new interpreter in the checkout, with as many threads as this one; gives what it printed."""
    command = [sys.executable, "-c", code, *arguments]
    environment["OMP_NUM_THREADS"] = str(torch.get_num_threads())
    result = subprocess.run(
        command, cwd=CHECKOUT, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True
    )
    return result.stdout


def compile_waits(rounds: int) -> Mapping[str, list[float]]:
    """Seconds: with an empty cache, and with the one that this left."""
    code = "from benchmarks.start_up import first_step_wait; print(first_step_wait())"
    waits: dict[str, list[float]] = {"empty": [], "cached": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            for found in waits.values():
                found.append(float(python(code, NUMBA_CACHE_DIR=folder)))
    return waits


def measure_compile(effort: Effort) -> Measurement:
    """The goal's seconds over those of an empty cache."""
    waits = compile_waits(1 if effort.quick else 3)
    return _against_goal(GOAL_COMPILE, waits["empty"], f"{statistics.median(waits['cached']):.1f} s once cached")


def small_run(folder: Path) -> None:
    """The run folder of a model of PTB's size that nobody has trained."""
    settings = Settings()
    words = 10_000
    vocabulary = Vocabulary([EOS, UNK, *(f"w{n}" for n in range(words - 2))])
    model = LanguageModel(settings.model, words)
    tokenizer = Tokenizer(Tokenisation("space", lowercase=False, sentences=True), vocabulary)
    write_language_model(folder, SavedModel(settings, model.state_dict(), tokenizer))


def measure_predict(effort: Effort) -> Measurement:
    """The goal's seconds over those of the command, from the shell and back."""
    seconds, imports = [], []
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        small_run(run)
        python(PREDICT, "predict", str(run), "w1 w2 w3")
        for _ in range(2 if effort.quick else 7):
            start = time.perf_counter()
            python(PREDICT, "predict", str(run), "w1 w2 w3")
            seconds.append(time.perf_counter() - start)
            start = time.perf_counter()
            python("import torch")
            imports.append(time.perf_counter() - start)
    return _against_goal(GOAL_PREDICT, seconds, f"`import torch` alone takes {statistics.median(imports):.1f} s")


def _against_goal(goal: float, seconds: list[float], note: str) -> Measurement:
    values = [goal / each for each in seconds]
    return Measurement(
        ratio=statistics.median(values),
        spread=spread(values),
        alternative=goal,
        ours=statistics.median(seconds),
        unit="s",
        note=note,
    )


CLAIMS = (
    Claim("start-up-compile", "wait for compilation at the first step ever, against 10 s", 1.0, measure_compile),
    Claim("start-up-predict", "`wordtie predict` on an existing run, against 2 s", 1.0, measure_predict),
)
