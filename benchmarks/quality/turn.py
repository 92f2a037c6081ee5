"""One contender's turn: a process within the time, then, outside of it, perplexities of what is on the disk.

Every contender prepares the text again, in a cache of its own. Compiled kernels stay, as an installed program stays.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.environment import describe
from benchmarks.quality import worker
from benchmarks.quality.budget import Clock
from benchmarks.quality.contenders import CONTENDERS, OURS
from benchmarks.quality.rows import Row
from benchmarks.runner import CHECKOUT
from wordtie.cli import SPINS
from wordtie.config import DataSettings, Settings, to_dict
from wordtie.config.paths import cache_folder, data_folders
from wordtie.config.recommended import RECOMMENDED
from wordtie.data.batches import spread
from wordtie.data.prepare import prepare
from wordtie.data.token_file import PreparedData
from wordtie.errors import WordtieError
from wordtie.inference.loading import Part, load
from wordtie.models.mixture import expectation_maximisation, log_p_of_text, log_probabilities
from wordtie.ngrams import fit_kneser_ney
from wordtie.runs.layout import RESULT

ORDER = 5
SECONDS_TO_START, SECONDS_TO_READ = 3.0, 1.5
"""What `--max-time` does not count: until training starts, and for each million words of the text."""
SPLITS = ("valid", "test")
MOST_MEASURED = 250_000
"""Tokens of a split that are measured, in stretches from all over it; only IMDb's splits are longer."""
OPENED: dict[str, Part | None] = {"mixture": None, "without_recent": "without-recent"}
"""What is measured of our own mixture, by the part that is opened."""
Scores = dict[str, NDArray[np.float64]]
"""Natural log p of each token, by split."""


class FailedError(WordtieError):
    """A contender's process ended with an error."""


@dataclass(frozen=True)
class Turn:
    """What is to be measured."""

    contender: str
    text: str
    data: DataSettings
    minutes: float
    settings: Mapping[str, Any]
    seed: int = 1
    threads: int = 2
    clock: Clock = "wall"

    def key(self) -> Row:
        """The fields of a row that say what was measured."""
        named = {name: getattr(self, name) for name in ("contender", "text", "minutes", "seed", "threads", "clock")}
        return {**named, "settings": dict(self.settings), "code": CONTENDERS[self.contender].code()}

    @property
    def seconds(self) -> float:
        """The time."""
        return 60.0 * self.minutes


def take(turn: Turn) -> Row:
    """Train, measure, and give the row."""
    kind = CONTENDERS[turn.contender].kind
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="quality-") as place:
        folder = Path(place)
        if kind == "ngram":
            told, scores = _count(turn)
        else:
            data = measured_data(turn.data)
            train = train_command(turn, folder, len(data.train))
            told = _run(turn, folder, worker_command(turn, folder) if kind == "recipe" else train)
            torch.set_num_threads(turn.threads)
            scores = recipe_scores(turn, data, folder) if kind == "recipe" else command_scores(data, folder / "run")
            told |= _trained(folder, kind)
            if "own_mixture_test" in told:
                told |= mixture_figures(data, folder / "run")
    loads = {"load_before": load_before, "load_after": os.getloadavg()[0]}
    return {**turn.key(), **told, **figures(scores, ngram_scores(turn)), **loads, **describe(), "threads": turn.threads}


def figures(scores: Scores, ngram: Scores) -> Row:
    """Perplexity of both splits, alone and mixed with the n-gram; one weight, fitted on the validation text."""
    both = {split: np.stack([scores[split], ngram[split]], 1) for split in SPLITS}
    weight_P = expectation_maximisation(both["valid"])
    found: Row = {"weight": float(weight_P[0])}
    for split in SPLITS:
        tokens = len(scores[split])
        nats = -log_p_of_text(both[split], np.zeros(tokens, np.intp), weight_P[None])
        found |= {
            split: _perplexity(-float(scores[split].sum()), tokens),
            f"mixed_{split}": _perplexity(nats, tokens),
            f"{split}_tokens": tokens,
        }
    return found


def _perplexity(nats: float, tokens: int) -> float:
    return round(math.exp(min(nats / tokens, 700.0)), 4)


def ngram_scores(turn: Turn) -> Scores:
    """Of the Kneser-Ney 5-gram that all are mixed with; kept in the cache, since it is the same for all."""
    data = measured_data(turn.data)
    folder = cache_folder() / "quality-in-minutes" / "ngram"
    name = f"{turn.text}-{data.info.splits['train'].sha256[:12]}-{len(data.vocabulary)}-{len(data.test)}"
    paths = {split: folder / f"{name}-{CONTENDERS['kneser-ney'].code()}-{split}.npy" for split in SPLITS}
    if not all(path.exists() for path in paths.values()):
        folder.mkdir(parents=True, exist_ok=True)
        for split, log_p_N in _count(turn)[1].items():
            with tempfile.NamedTemporaryFile(dir=folder, suffix=".npy", delete=False) as file:
                np.save(file, log_p_N)
            Path(file.name).replace(paths[split])
    return {split: np.load(path) for split, path in paths.items()}


def measured_data(settings: DataSettings) -> PreparedData:
    """The text, of whose validation and test text at most `MOST_MEASURED` tokens are kept."""
    data = prepare(settings)
    valid, test = (np.asarray(spread(ids, MOST_MEASURED), np.int32) for ids in (data.valid, data.test))
    return replace(data, valid=valid, test=test)


def _count(turn: Turn) -> tuple[Row, Scores]:
    """The n-gram model, which needs a part of the time."""
    wall, cpu = time.monotonic(), time.process_time()
    data = measured_data(turn.data)
    eos_id = data.vocabulary.eos_id if data.tokenizer.sentences else None
    trie = fit_kneser_ney(data.train, len(data.vocabulary), ORDER, eos_id=eos_id)
    told = {"wall_seconds": time.monotonic() - wall, "cpu_seconds": time.process_time() - cpu}
    scores = {split: np.asarray(trie.log_probabilities(getattr(data, split)), np.float64) for split in SPLITS}
    return {**told, "tokens": len(data.train), "parameters": trie.ngrams}, scores


def worker_command(turn: Turn, folder: Path) -> list[str]:
    """Of a recipe's process."""
    job = worker.Job(
        contender=turn.contender,
        settings=dict(turn.settings),
        data=asdict(turn.data),
        minutes=turn.minutes,
        seconds=turn.seconds,
        clock=turn.clock,
        started=time.monotonic() if turn.clock == "wall" else 0.0,
        seed=turn.seed,
        threads=turn.threads,
        folder=str(folder),
    )
    (folder / "job.json").write_text(json.dumps(asdict(job)))
    return [sys.executable, "-m", "benchmarks.quality.worker", str(folder / "job.json")]


def train_command(turn: Turn, folder: Path, words: int) -> list[str]:
    """Of `wordtie train`, as it is or as it was, on a training text of so many words."""
    command = [sys.executable, "-m", "wordtie", "train", turn.data.corpus]
    default = to_dict(Settings())
    for name, value in asdict(turn.data).items():
        if value != default["data"][name] and name != "corpus":
            command += [f"--data.{name}", str(value)]
    if turn.contender in OURS:
        command += ["--time", f"{turn.seconds:g}s"]
        command += [each for name, value in turn.settings.items() for each in (f"--{name}", str(value))]
    else:
        left = turn.seconds - SECONDS_TO_START - SECONDS_TO_READ * words / 1e6
        command += ["--max-time", f"{max(1.0, left):.1f}s", "--ngram", "none"]
        for name in RECOMMENDED:
            section, _, setting = name.partition(".")
            command += [f"--{name}", str(default[section][setting])]
    return [*command, "--seed", str(turn.seed), "--training.threads", str(turn.threads), "--out", str(folder / "run")]


def _run(turn: Turn, folder: Path, command: Sequence[str]) -> Row:
    """Wait for the process; what it took, the processes that it started included."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(turn.threads),
        "GOMP_SPINCOUNT": SPINS,
        "XDG_CACHE_HOME": str(folder / "cache"),
        "NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", str(cache_folder() / "kernels")),
        "WORDTIE_DATA": str(next((root for root in data_folders() if root.is_dir()), cache_folder()).resolve()),
        "PYTHONPATH": os.pathsep.join([str(CHECKOUT), str(CHECKOUT / "src")]),
    }
    cores = sorted(os.sched_getaffinity(0))[: turn.threads]
    started = time.monotonic()
    with (folder / "messages.txt").open("wb") as messages:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )  # fmt: skip
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        last = (folder / "messages.txt").read_text(errors="replace").strip().splitlines()[-1:]
        raise FailedError(f"{turn.contender} on {turn.text}, {turn.minutes:g} minutes: {' '.join(last)}")
    wall, cpu = time.monotonic() - started, usage.ru_utime + usage.ru_stime
    return {"wall_seconds": wall, "cpu_seconds": cpu, "peak_mb": usage.ru_maxrss // 1024}


def _trained(folder: Path, kind: str) -> Row:
    """What the contender itself tells of its training."""
    if kind == "recipe":
        told: Row = json.loads((folder / worker.TRAINED).read_text())
        return told
    result = json.loads((folder / "run" / RESULT).read_text())
    told = {"tokens": result["tokens_seen"], "parameters": result["parameters"], "stopped": result["stopped"],
            "measuring_seconds": result["measuring_seconds"]}  # fmt: skip
    for part, figures_of in (("network", result), ("ngram", result["ngram"]), ("mixture", result["mixture"])):
        if figures_of:
            told |= {f"own_{part}_{split}": figures_of[f"{split}_perplexity"] for split in SPLITS}
    return told


def recipe_scores(turn: Turn, data: PreparedData, folder: Path) -> Scores:
    """Of the parameters on the disk, the text being one stream."""
    job = worker.Job(**json.loads((folder / "job.json").read_text()))
    recipe = job.recipe(len(data.vocabulary), data.vocabulary.eos_id)
    recipe.model.load_state_dict(torch.load(folder / worker.MODEL, weights_only=True))
    return {split: recipe.log_p(getattr(data, split)).numpy() for split in SPLITS}


def mixture_figures(data: PreparedData, run: Path) -> Row:
    """Perplexities of a run as it opens, with n-grams and recent words, and without recent words: of all tokens, where
    the training measures only as many as it has time for."""
    found: Row = {}
    for what, part in OPENED.items():
        model = load(run, part=part).model
        for split in SPLITS:
            log_p_N = log_probabilities([model], [getattr(data, split)])[0][:, 0]
            found[f"own_{what}_{split}"] = _perplexity(-float(log_p_N.sum()), len(log_p_N))
    return found


def command_scores(data: PreparedData, run: Path) -> Scores:
    """Of the network in a run folder, without the n-grams that were mixed in."""
    network = load(run, part="network")
    if network.tokenizer.vocabulary != data.vocabulary:
        raise FailedError(f"{run}: another vocabulary than that of the text")
    parts = [network.model]
    return {split: log_probabilities(parts, [getattr(data, split)])[0][:, 0] for split in SPLITS}
