"""The process that compiles the kernels and those that load them from the cache compute the same bits."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba")

MAIN = "import sys; from wordtie.cli import main; sys.exit(main())"
WORD2VEC = {"vector_size": "24", "workers": "1"}
TRAIN = {"epochs": "1", "steps": "5", "streams": "2"}
COMMANDS = {
    "train": ["--model.hidden", "24", *(part for name in TRAIN for part in (f"--training.{name}", TRAIN[name]))],
    "word2vec": [part for name in WORD2VEC for part in (f"--word2vec.{name}", WORD2VEC[name])],
}


def weights(folder: Path, cache: Path, command: str, out: str) -> str:
    """SHA-256 of what a fresh process trains with the kernels that `cache` holds."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    call = [sys.executable, "-c", MAIN, command, "text.txt", *COMMANDS[command], "--out", out]
    done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return hashlib.sha256((folder / out / "model.safetensors").read_bytes()).hexdigest()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_process_that_compiles_gets_the_bits_of_later_ones(command: str, tmp_path: Path) -> None:
    words = np.random.default_rng(0).zipf(1.3, (300, 12)) % 700
    (tmp_path / "text.txt").write_text("".join(" ".join(f"w{w}" for w in line) + "\n" for line in words))
    cache = tmp_path / "cache"
    first = weights(tmp_path, cache, command, "first")
    assert any(cache.rglob("*.nbc")), "nothing was compiled into the cache"
    assert weights(tmp_path, cache, command, "second") == first
