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
from wordtie.inference.loading import load
from wordtie.training.train import train

FAULTS = """
import resource, sys
from wordtie.training.process import hand_freed_memory_back, keep_freed_memory
if {keep}:
    keep_freed_memory()
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [bytearray({size} << 20) for _ in range(4)]
    del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
def in_memory():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() >> 20
for _ in range(3):
    faults()
print(faults())
print(in_memory())
hand_freed_memory_back()
print(in_memory())
"""
GLIBC = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc alone is told to keep memory")


def faults(keep: bool, size: int) -> tuple[int, int, int]:
    """Of taking and freeing four blocks of so many MB for the fourth time; MB in memory then, and handed back."""
    script = FAULTS.format(keep=keep, size=size)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    count, before, after = (int(line) for line in done.stdout.splitlines())
    return count, before, after


@GLIBC
@pytest.mark.parametrize("size", [16, 70])
def test_freed_memory_is_kept_and_handed_back_in_the_end(size: int) -> None:
    kept, before, after = faults(True, size)
    assert kept < 100 < faults(False, size)[0]
    assert before - after > 3 * size


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
