"""What was measured, a line of JSON each. A row that is there is not measured a second time."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.runner import RESULTS

Row: TypeAlias = dict[str, Any]
ROWS = RESULTS / "quality-in-minutes.jsonl"
ROWS_OF_AVX2 = RESULTS / "no-avx512" / ROWS.name
KEY = ("contender", "text", "minutes", "settings", "seed", "threads", "clock", "code")
"""What makes two measurements the same."""


def key_of(row: Mapping[str, Any]) -> str:
    """As one text."""
    return json.dumps([row[name] for name in KEY], sort_keys=True)


def read(path: Path = ROWS) -> list[Row]:
    """All rows; a last line that was torn by a kill is none."""
    lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    return [json.loads(line) for line in lines[:-1] if line]


def append(row: Row, path: Path = ROWS) -> None:
    """Add a row, and wait until it is on the disk. What a kill tore before is cut off."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        whole = path.read_bytes().rfind(b"\n") + 1
        file.truncate(whole)
        file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
