"""Train the same recipes with an earlier commit and with the working tree, and compare the weights bit for bit.

Both versions run on this machine, through the command line, each with its own caches. Three tables go to stdout, tab
separated:

1. SHA-256 of the trained weights of each recipe, before and after.
2. A training that the earlier commit interrupts in its second epoch, and that each version finishes: SHA-256 of the
   weights of the uninterrupted training, and of the finished one.
3. CPU seconds of a training step and of `--help`, measured in turns; below 1, the working tree is faster.

The exit code is 1 if any weights differ. Times never fail: a busy machine measures noise.

After a setting, an option or a parameter is renamed, `NOW` must say so.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from safetensors.numpy import load_file

TREE = Path(__file__).resolve().parents[1]
BASE = "8696be2"


@dataclass(frozen=True)
class Spelling:
    """How a version names what it shares with 8696be2."""

    train: tuple[str, ...] = ("train",)
    word2vec: tuple[str, ...] = ("word2vec",)
    config: str = "--config"
    out: str = "--out"
    resume: str = "--resume"
    settings: Mapping[str, str] = field(default_factory=dict)
    """`section.name` of a setting at 8696be2 to its name in this version."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Name of a parameter in this version's model file to its name at 8696be2."""
    weights: str = "model.safetensors"


AT_8696BE2 = Spelling()
NOW = Spelling()
"""The working tree's. Only this changes when something is renamed."""

Recipe = dict[str, Any]
"""Dotted names of settings, as 8696be2 spells them, and their values."""

SMALL: Recipe = {
    "model.hidden": 32,
    "training.epochs": 3,
    "training.patience": 0,
    "training.streams": 10,
    "training.steps": 20,
    "training.threads": 1,
}
"""A dozen windows an epoch of the small text."""
LANGUAGE_MODELS: dict[str, Recipe] = {
    "real": {},
    "real-readable": {"training.fused": False, "training.precision": "fp32", "training.keep": "last"},
    "tied-linear-dropout": {
        "model.head": "tied_linear",
        "model.embedding": 24,
        "model.projection_penalty": 0.15,
        "model.dropout": "gal",
        "model.input_dropout": 0.2,
        "model.recurrent_dropout": 0.2,
        "model.between_dropout": 0.3,
        "model.output_dropout": 0.4,
        "model.word_dropout": 0.1,
        "model.weight_drop": 0.1,
        "loss.kind": "cross_entropy",
        "training.keep": "last",
    },
    "vs-kn-elementwise": {
        "noise.kind": "kneser_ney",
        "noise.elementwise": True,
        "noise.l2": 1e-4,
        "noise.input_dropout": 0.1,
        "noise.output_dropout": 0.1,
        "loss.kind": "cross_entropy",
        "training.keep": "last",
    },
    "rhn": {"model.core": "rhn", "model.layers": 1, "model.depth": 3, "training.keep": "last"},
    "untied-gru-adam": {
        "model.head": "untied",
        "model.core": "gru",
        "noise.kind": "kneser_ney",
        "noise.scheme": "data_noising",
        "training.optimiser": "adam",
        "training.lr": 0.002,
        "training.keep": "last",
    },
}
RESUMED = ("real", "vs-kn-elementwise", "untied-gru-adam")
"""Language models that are interrupted: plain SGD, random draws of the noise, and an optimiser with a state."""

SMALL_WORD2VEC: Recipe = {
    "data.min_count": 1,
    "word2vec.vector_size": 16,
    "word2vec.epochs": 2,
    "word2vec.sample": 0.01,
    "word2vec.workers": 1,
}
WORD2VEC: dict[str, Recipe] = {
    "skipgram-tied-linear": {"word2vec.algorithm": "skipgram", "word2vec.head": "tied_linear"},
    "cbow-untied": {"word2vec.algorithm": "cbow", "word2vec.head": "untied"},
}

TIMED: Recipe = {"training.patience": 0, "training.threads": 1}
"""The default model. A training of one epoch is subtracted from one of several, so that only steps count."""
TIMED_EPOCHS = 6
TIMED_TOKENS_A_WINDOW = 20 * 35
TRAINING_ROUNDS, HELP_ROUNDS = 3, 7


class CommandError(Exception):
    """A command did not do its work."""


@dataclass(frozen=True)
class Version:
    """A checkout of wordtie, and the folder in which its commands run."""

    source: Path
    folder: Path
    spelling: Spelling

    def python(self, *arguments: str) -> str:
        """Run Python with this version's package, and return what it prints. Raises `CommandError`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        caches = {"XDG_CACHE_HOME": str(self.folder / "cache"), "NUMBA_CACHE_DIR": str(self.folder / "kernels")}
        environment = {**os.environ, **caches, "PYTHONPATH": str(self.source), "OMP_NUM_THREADS": "1"}
        call = [sys.executable, *arguments]
        done = subprocess.run(call, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CommandError(f"{self.source}: {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def check(self) -> None:
        """Raise `CommandError` if Python finds another copy of the package."""
        found = Path(self.python("-c", "import wordtie; print(wordtie.__file__)").strip())
        if self.source not in found.parents:
            raise CommandError(f"Python imports {found}, not the package in {self.source}")

    def train(self, name: str, recipe: Recipe, resume: bool = False) -> Path:
        """Train, and return the run folder."""
        sections: dict[str, dict[str, Any]] = {}
        for old, value in recipe.items():
            section, _, setting = self.spelling.settings.get(old, old).partition(".")
            sections.setdefault(section, {})[setting] = value
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(sections, sort_keys=False))
        is_word2vec = any(setting.startswith("word2vec.") for setting in recipe)
        command = self.spelling.word2vec if is_word2vec else self.spelling.train
        more = [self.spelling.resume] if resume else []
        run = self.folder / name
        self.python("-m", "wordtie", *command, self.spelling.config, str(path), self.spelling.out, str(run), *more)
        return run

    def weights_sha256(self, run: Path) -> str:
        """SHA-256 over name, shape, type and bytes of every tensor, in the order of the names at 8696be2."""
        tensors = load_file(run / self.spelling.weights)
        old_names = {self.spelling.parameters.get(name, name): name for name in tensors}
        digest = hashlib.sha256()
        for old in sorted(old_names):
            tensor = tensors[old_names[old]]
            digest.update(f"{old} {tensor.shape} {tensor.dtype}\n".encode())
            digest.update(tensor.tobytes())
        return digest.hexdigest()

    def train_seconds(self, recipe: Recipe) -> float:
        """CPU seconds of a training; its run folder is removed."""
        before = children_seconds()
        run = self.train("timed", recipe)
        seconds = children_seconds() - before
        shutil.rmtree(run)
        return seconds

    def help_seconds(self, *command: str) -> float:
        """CPU seconds of the help of the program, or of a command."""
        before = children_seconds()
        self.python("-m", "wordtie", *command, "--help")
        return children_seconds() - before


def children_seconds() -> float:
    """CPU time of all commands so far. On a busy machine the time of the clock says little."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write_text(folder: Path, words: int, train_lines: int) -> Path:
    """A corpus of made-up words, the first of them the most frequent; the same on every machine."""
    generator = random.Random(1)
    vocabulary = [f"w{number}" for number in range(words)]
    weights = [1 / (number + 1) for number in range(words)]
    folder.mkdir(parents=True)
    for split, lines in (("train", train_lines), ("valid", 20), ("test", 20)):
        sentences = (generator.choices(vocabulary, weights, k=generator.randint(3, 12)) for _ in range(lines))
        (folder / f"{split}.txt").write_text("".join(f"{' '.join(sentence)}\n" for sentence in sentences))
    return folder


@contextmanager
def checked_out(commit: str, folder: Path) -> Iterator[Path]:
    """A temporary worktree of the commit."""
    git = ["git", "-C", str(TREE), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def row(*cells: object) -> None:
    """Print a line of a table at once: the whole takes minutes."""
    print(*cells, sep="\t", flush=True)


def same(name: str, expected: str, found: str) -> bool:
    """Print a line that compares two digests."""
    row(name, expected, found, "yes" if expected == found else "NO")
    return expected == found


def compare_weights(before: Version, after: Version, text: Path) -> tuple[bool, dict[str, str]]:
    """Whether all recipes end in the same weights, and the digests of the earlier version."""
    recipes = {name: {**SMALL, **recipe} for name, recipe in LANGUAGE_MODELS.items()}
    recipes |= {name: {**SMALL_WORD2VEC, **recipe} for name, recipe in WORD2VEC.items()}
    row("name", "sha256_before", "sha256_after", "equal")
    alike, digests = True, {}
    for name, recipe in recipes.items():
        whole = {"data.corpus": str(text), **recipe}
        digests[name], found = (version.weights_sha256(version.train(name, whole)) for version in (before, after))
        alike &= same(name, digests[name], found)
    return alike, digests


def compare_resumed(before: Version, after: Version, text: Path, whole: Mapping[str, str]) -> bool:
    """Whether a training that the earlier version was interrupted in ends in the weights of the uninterrupted one."""
    row("name", "sha256_uninterrupted", "sha256_resumed", "equal")
    alike = True
    for name in RESUMED:
        recipe = {"data.corpus": str(text), **SMALL, **LANGUAGE_MODELS[name]}
        begun = f"{name}-resumed"
        before.train(begun, {**recipe, "training.epochs": 1})
        # the time is over after a single window, in the second epoch
        interrupted = before.train(begun, {**recipe, "training.max_time": "0.001s"}, resume=True)
        shutil.copytree(interrupted, after.folder / begun)
        for who, version in (("base", before), ("working tree", after)):
            found = version.weights_sha256(version.train(begun, recipe, resume=True))
            alike &= same(f"{name}, resumed by the {who}", whole[name], found)
    return alike


def compare_times(before: Version, after: Version, text: Path) -> None:
    """Print CPU seconds of a training step and of help, before and after."""
    tokens = sum(len(line.split()) + 1 for line in (text / "train.txt").read_text().splitlines())
    steps = tokens // TIMED_TOKENS_A_WINDOW * (TIMED_EPOCHS - 1)

    def training(epochs: int) -> Callable[[Version], float]:
        recipe = {"data.corpus": str(text), "training.epochs": epochs, **TIMED}
        return lambda version: version.train_seconds(recipe)

    row("name", "seconds_before", "seconds_after", "after_over_before")
    fastest(training(1), before, after, rounds=1)  # compiles kernels
    short = fastest(training(1), before, after, TRAINING_ROUNDS)
    long = fastest(training(TIMED_EPOCHS), before, after, TRAINING_ROUNDS)
    ratio("training step", *((more - less) / steps for less, more in zip(short, long, strict=True)))
    ratio("--help", *fastest(lambda version: version.help_seconds(), before, after, HELP_ROUNDS))
    ratio("train --help", *fastest(lambda version: version.help_seconds("train"), before, after, HELP_ROUNDS))


def fastest(seconds: Callable[[Version], float], before: Version, after: Version, rounds: int) -> tuple[float, float]:
    """The fastest of several rounds of each version, the two in turns."""
    times = [(seconds(before), seconds(after)) for _ in range(rounds)]
    return min(first for first, _ in times), min(second for _, second in times)


def ratio(name: str, before: float, after: float) -> None:
    """Print a line that compares two times."""
    row(name, f"{before:.4f}", f"{after:.4f}", f"{after / before:.3f}")


def main() -> int:
    """Compare, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default=BASE, metavar="COMMIT", help=f"the earlier commit ({BASE})")
    parser.add_argument("--base-is-renamed", action="store_true", help="the base has the working tree's names")
    parser.add_argument("--no-times", action="store_true", help="compare weights only")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wordtie-golden-") as name:
        folder = Path(name)
        with checked_out(arguments.base, folder / "base") as base:
            spelling = NOW if arguments.base_is_renamed else AT_8696BE2
            before = Version(base / "src", folder / "before", spelling)
            after = Version(TREE / "src", folder / "after", NOW)
            try:
                before.check()
                after.check()
                text = write_text(folder / "small", words=200, train_lines=300)
                alike, digests = compare_weights(before, after, text)
                alike &= compare_resumed(before, after, text, digests)
                if not arguments.no_times:
                    compare_times(before, after, write_text(folder / "timed", words=3000, train_lines=900))
            except CommandError as failed:
                print(failed, file=sys.stderr)
                return 2
    return 0 if alike else 1


if __name__ == "__main__":
    sys.exit(main())
