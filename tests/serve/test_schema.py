"""Requests that Schemathesis makes up from the description: valid ones, and ones that are not.

Every answer has a status, a content type and a body as described; there is no 5xx but 503.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serve.client import Running

pytest.importorskip("schemathesis", reason="Schemathesis is not installed")
CASES = os.environ.get("WORDTIE_SCHEMATHESIS_CASES", "20")
"""For each operation; 200 take 40 seconds on two cores."""


def test_the_description_holds(server: Running, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}openapi.json"),
        *("--max-examples", CASES, "--seed", "1", "--workers", "2", "--phases", "examples,coverage,fuzzing"),
        *("--generation-database", "none", "--no-color"),
    ]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "NO_PROXY": "*", "no_proxy": "*"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=900)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "No issues found" in done.stdout
