"""What a figure was measured on: a speed means nothing without it."""

from __future__ import annotations

import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from wordtie import __version__
from wordtie.runs.provenance import code_version
from wordtie.runs.provenance import machine as report_machine
from wordtie.training.precision import resolve_device

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
    here = report_machine(resolve_device("auto"))
    flags = re.search(r"^flags\s*: (.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    total = re.search(r"^MemTotal:\s+(\d+) kB$", _read("/proc/meminfo"), re.MULTILINE)
    found = set(flags[1].split()) if flags else set()
    return {
        "processor": here["cpu"],
        "cores": here["cores"],
        "instructions": [each for each in INSTRUCTIONS if each in found],
        "memory_gb": round(int(total[1]) / 1e6) if total else None,
        "gpu": here["gpu"],
        "system": here["system"],
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
