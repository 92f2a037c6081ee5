"""Memory that is freed is kept, so that taking it again costs no page faults."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

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
