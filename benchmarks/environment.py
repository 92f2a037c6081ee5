"""What a figure was measured on: a speed means nothing without it."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from wordtie import __version__
from wordtie.report.machine import code_version

PACKAGES = ("torch", "numpy", "numba")
INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "amx_tile")
"""Those that decide how fast a matrix product is."""


def describe() -> dict[str, Any]:
    """Machine, versions, the code's commit, and threads."""
    return {
        "machine": machine(),
        "versions": versions(),
        "code_version": code_version(),
        "threads": torch.get_num_threads(),
    }


def machine() -> dict[str, Any]:
    """Processor, cores, memory, and the card where there is one."""
    cpu, memory = _read("/proc/cpuinfo"), _read("/proc/meminfo")
    name = re.search(r"^model name\s*: (.+)$", cpu, re.MULTILINE)
    flags = re.search(r"^flags\s*: (.+)$", cpu, re.MULTILINE)
    total = re.search(r"^MemTotal:\s+(\d+) kB$", memory, re.MULTILINE)
    found = set(flags[1].split()) if flags else set()
    return {
        "processor": name[1] if name else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "instructions": [each for each in INSTRUCTIONS if each in found],
        "memory_gb": round(int(total[1]) / 1e6) if total else None,
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Of wordtie, Python and what does the arithmetic."""
    found = {"wordtie": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _read(path: str) -> str:
    return Path(path).read_text() if Path(path).exists() else ""
