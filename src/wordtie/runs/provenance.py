"""On which machine, and with which code, a run was computed: `sessions.jsonl` has a line for each invocation."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import wordtie
from wordtie.errors import RunFolderError
from wordtie.runs.layout import INVOCATIONS
from wordtie.storage.atomic import saving, write_text
from wordtie.storage.opening import own_file, read_regular
from wordtie.storage.strict_json import conform, parse

if TYPE_CHECKING:
    import torch


UNMIXED = "n-grams are not mixed in yet: `wordtie train` with --resume does it"


class _Invocation(TypedDict):
    """Fields that every line of `sessions.jsonl` has."""

    code_version: str
    machine: dict[str, Any]


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine(device: torch.device | None = None) -> dict[str, Any]:
    """Return CPU model, cores, GPU (None if the `device` that computes is not one) and system."""
    gpu = None
    if device is not None and device.type == "cuda":
        import torch

        gpu = torch.cuda.get_device_name(device)
    return {"cpu": _cpu_model(), "cores": cores(), "gpu": gpu, "system": f"{platform.system()} {platform.machine()}"}


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


@cache
def code_version() -> str:
    """Return `git describe` of the checkout that the package lies in, or else the package's version.

    If its source differs, `-dirty` and a digest of the differences are added. It is read once: what a process has
    loaded stays, whatever is committed later.
    """
    source = Path(wordtie.__file__).parent
    if _git(source, "ls-files", "--error-unmatch", "__init__.py") is None:
        return wordtie.__version__
    commit = _git(source, "describe", "--always", "--tags", "--abbrev=10")
    changed = _git(source, "status", "--porcelain", "--", ".")
    if not commit:
        return wordtie.__version__
    return f"{wordtie.__version__}+{commit}{_dirty(source, changed) if changed else ''}"


def _dirty(source: Path, changed: str) -> str:
    """Return `-dirty` and a digest of what differs from the commit, files that git does not know included."""
    digest = hashlib.sha256(f"{changed}{_git(source, 'diff', 'HEAD', '--', '.')}".encode())
    for name in (_git(source, "ls-files", "--others", "--exclude-standard", "-z", "--", ".") or "").split("\0"):
        with contextlib.suppress(OSError):
            digest.update((source / name).read_bytes() if name else b"")
    return f"-dirty.{digest.hexdigest()[:8]}"


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


class Versions(TypedDict):
    """Versions of the software that computes a run."""

    code_version: str
    torch: str
    python: str


def versions() -> Versions:
    """Return the versions of wordtie's code, PyTorch and Python."""
    import torch

    return {"code_version": code_version(), "torch": torch.__version__, "python": platform.python_version()}


def begin_invocation(folder: Path, fresh: bool, device: torch.device, more: dict[str, int | None]) -> None:
    """Add a line for this invocation: what computes it, and `more`, such as where in the text it begins.

    Call it under the folder's lock. Earlier lines are removed if the run is `fresh`. Raises `SaveError`.
    """
    path = folder / INVOCATIONS
    line = {**versions(), "machine": machine(device), **more}
    with saving(path), open(path, "ab", opener=own_file) as file:
        file.truncate(0 if fresh else len(_whole_lines(path)))  # a kill may have torn the last line
        file.write(f"{json.dumps(line)}\n".encode())


def end_invocation(folder: Path, how: str) -> None:
    """Record in the last invocation how it ended, if the run will not continue. Raises `SaveError`."""
    calls = invocations(folder)
    calls[-1]["ended"] = how
    write_text(folder / INVOCATIONS, "".join(f"{json.dumps(call)}\n" for call in calls))


def record_ngram(folder: Path, order: int | None) -> None:
    """Record in the last invocation the order of the n-grams to mix in, if it has changed. Raises `SaveError`."""
    calls = invocations(folder)
    if calls and calls[-1].get("ngram") != order:
        calls[-1]["ngram"] = order
        write_text(folder / INVOCATIONS, "".join(f"{json.dumps(call)}\n" for call in calls))


def ngram_due(folder: Path) -> bool:
    """Whether the last invocation of the run was to mix in n-grams in the end."""
    try:
        calls = invocations(folder)
    except (RunFolderError, OSError):
        return False
    return bool(calls and calls[-1].get("ngram"))


def _whole_lines(path: Path) -> bytes:
    before, end, _ = read_regular(path).rpartition(b"\n")
    return before + end


def invocations(folder: Path) -> list[dict[str, Any]]:
    """Read the invocations of the run, oldest first; empty if none were recorded. Raises `RunFolderError`."""
    path = folder / INVOCATIONS
    lines = _whole_lines(path).splitlines() if path.exists() else []
    found = []
    for number, line in enumerate(lines, 1):
        try:
            invocation = conform(parse(line), dict[str, Any])
            conform(invocation, _Invocation)
            found.append(invocation)
        except ValueError as error:
            raise RunFolderError(f"{path}: line {number} is damaged ({error}): remove that line") from error
    return found
