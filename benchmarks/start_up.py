"""What a user waits for before anything happens: the first use of the compiled kernels, and commands on a few words.

The goals are absolute, so the alternative of each row is its own goal. Both are measured in new processes.
"""

from __future__ import annotations

import os
import resource
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
GOAL_COMPILE, GOAL_SHORT = 10.0, 0.6
"""Seconds."""
COMMAND = "import sys, wordtie.cli; sys.exit(wordtie.cli.main())"
WITH_TORCH = f"""
import wordtie.inference.loading as loading
load = loading.load
loading.load = lambda *given, without_torch, **named: load(*given, **named)
{COMMAND}"""
"""As for a long text, on which the commands load torch."""


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
    """The goal's seconds over those of `wordtie predict`, from the shell and back."""
    return _measure_command(effort, "predict", "w1 w2 w3")


def measure_surprisal(effort: Effort) -> Measurement:
    """The goal's seconds over those of `wordtie surprisal` on a line, from the shell and back."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        text.write_text("w1 w2 w3 w4 w5 w6 w7 w8 w9\n", encoding="utf-8")
        return _measure_command(effort, "surprisal", str(text))


def _measure_command(effort: Effort, name: str, what: str) -> Measurement:
    """With and without torch in turn."""
    seconds: dict[str, list[float]] = {COMMAND: [], WITH_TORCH: []}
    cpu: dict[str, list[float]] = {COMMAND: [], WITH_TORCH: []}
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        small_run(run)
        for _ in range(3 if effort.quick else 8):
            for code, found in seconds.items():
                start, used = time.perf_counter(), cpu_seconds()
                python(code, name, str(run), what)
                found.append(time.perf_counter() - start)
                cpu[code].append(cpu_seconds() - used)
    ours, with_torch = (found[1:] for found in seconds.values())  # the first reads what is not in memory yet
    of_cpu = [statistics.median(found[1:]) for found in cpu.values()]
    note = f"{statistics.median(with_torch):.1f} s with torch; CPU time {of_cpu[0]:.2f} s, with torch {of_cpu[1]:.1f} s"
    return _against_goal(GOAL_SHORT, ours, note)


def cpu_seconds() -> float:
    """What finished child processes have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
    Claim("cold-start", "`wordtie predict` on an existing run, against 0.6 s", 1.0, measure_predict),
    Claim("cold-start-surprisal", "`wordtie surprisal` of one line, against 0.6 s", 1.0, measure_surprisal),
)
