"""Temporary folders that a killed process left behind.

Whatever is saved is written in such a folder first, and renamed into its place; nobody reads one.
"""

from __future__ import annotations

import shutil
from pathlib import Path


def remove_leftovers(folder: Path, *prefixes: str) -> None:
    """Remove the folders in `folder` whose names start so. To be called under the lock of what `folder` is for."""
    for prefix in prefixes:
        for left in folder.glob(f"{prefix}*"):
            shutil.rmtree(left, ignore_errors=True)
