"""On what, and with which code, a result was computed."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import wordtie


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> dict[str, Any]:
    """CPU model, cores, GPU (None where there is none), system."""
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {"cpu": _cpu_model(), "cores": cores(), "gpu": gpu, "system": f"{platform.system()} {platform.machine()}"}


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def code_version() -> str:
    """`git describe` of the checkout the package lies in, `-dirty` where its source differs; else its version."""
    source = Path(wordtie.__file__).parent
    if _git(source, "ls-files", "--error-unmatch", "__init__.py") is None:
        return wordtie.__version__
    commit = _git(source, "describe", "--always", "--tags", "--abbrev=10")
    changed = _git(source, "status", "--porcelain", "--", ".")
    return f"{wordtie.__version__}+{commit}{'-dirty' if changed else ''}" if commit else wordtie.__version__


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def versions() -> dict[str, str]:
    """Code version, PyTorch and Python."""
    import torch

    return {"code_version": code_version(), "torch": torch.__version__, "python": platform.python_version()}
