"""The example notebook: it runs from top to bottom, and is kept with its outputs, which name no machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "examples" / "quickstart.ipynb"
SECONDS = "10"
"""For training."""


def code_cells() -> list[dict[str, Any]]:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def folders_in(folder: Path) -> dict[str, str]:
    """Variables that keep a kernel's files out of the home folder."""
    names = ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR")
    return {name: str(folder / name.lower()) for name in names}


def test_it_runs(tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    before = NOTEBOOK.read_bytes()
    environment = {**os.environ, **folders_in(tmp_path), "QUICKSTART_SECONDS": SECONDS}
    command = [sys.executable, str(ROOT / "scripts" / "run_notebook.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert NOTEBOOK.read_bytes() == before


def test_a_cell_that_fails_is_seen(tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    code = (
        "import nbformat, run_notebook\nfrom pathlib import Path\n"
        "notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell('1 / 0')])\n"
        "run_notebook.execute(notebook, Path('.'))"
    )
    environment = {**os.environ, **folders_in(tmp_path), "PYTHONPATH": f"{ROOT / 'scripts'}:{ROOT / 'src'}"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
    )
    assert done.returncode != 0
    assert "ZeroDivisionError" in done.stderr


def test_it_is_kept_as_it_was_executed() -> None:
    cells = code_cells()
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1)), "scripts/notebook"
    kinds = {kind for cell in cells for output in cell["outputs"] for kind in output.get("data", {})}
    assert {"image/svg+xml", "text/html", "text/plain"} <= kinds
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]


def test_it_names_no_machine() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert re.findall(r"(?<![\w.:/])/(?:root|home|Users|work|tmp|var|usr|opt|mnt)/[\w./-]+", text) == []
