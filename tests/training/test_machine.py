"""What training asks of the process, whatever its host has asked before, and memory that is kept."""

from __future__ import annotations

import platform
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import torch

from wordtie.config import DataSettings, ModelSettings, Settings, TrainingSettings
from wordtie.training.trainer import train
from wordtie.uses.open_run import load

FAULTS = """
import resource
from wordtie.training.machine import keep_freed_memory
if {keep}:
    keep_freed_memory()
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [bytearray(16 << 20) for _ in range(4)]
    del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
for _ in range(3):
    faults()
print(faults())
"""


def faults(keep: bool) -> int:
    """Of taking and freeing four blocks for the fourth time."""
    done = subprocess.run([sys.executable, "-c", FAULTS.format(keep=keep)], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc alone is told to keep memory")
def test_freed_memory_is_kept() -> None:
    assert faults(keep=True) < 100 < faults(keep=False)


@pytest.mark.parametrize(
    "host",
    [torch.no_grad(), torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16)],
    ids=["no gradients", "inference", "autocast"],
)
def test_training_and_use_within_what_the_host_has_asked_of_torch(
    host: AbstractContextManager[None], text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    training = TrainingSettings(epochs=1, streams=4, steps=7, threads=1)
    settings = Settings(data=DataSettings(str(text)), model=ModelSettings(hidden=8), training=training)
    alone = train(settings, tmp_path / "alone")
    with host:
        within = train(settings, tmp_path / "within")
        bits = [word.surprisal_bits for word in load(tmp_path / "within").surprisal("w1 w2")]
    assert within.weights_sha256 == alone.weights_sha256
    assert bits == [word.surprisal_bits for word in load(tmp_path / "alone").surprisal("w1 w2")]
