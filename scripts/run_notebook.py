"""Execute the example notebook in a new folder, and write its outputs into it.

What a cell prints on stderr is progress, which is of one machine and one moment: it is left out. So are the times at
which cells ran, and the path of the new folder.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

CHECKOUT = Path(__file__).resolve().parents[1]
NOTEBOOK = CHECKOUT / "examples" / "quickstart.ipynb"
MACHINE_PATH = re.compile(r"(?<![\w.:/])/(?:root|home|Users|work|tmp|var|usr|opt|mnt|private)/[\w./-]+")
"""A path that other machines do not have."""


def execute(notebook: Any, folder: Path) -> None:
    """Run all cells in the folder. Raises `CellExecutionError`."""
    paths = [str(CHECKOUT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # the checkout's code, in the kernel too
    client = NotebookClient(
        notebook, timeout=1200, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()


def tidy(notebook: Any) -> None:
    """Remove what differs from machine to machine."""
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]


def main() -> None:
    """Execute, check, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing: see that all cells run")
    arguments = parser.parse_args()
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        try:
            execute(notebook, Path(folder))
        except CellExecutionError as error:
            sys.exit(f"{NOTEBOOK}: {error}")
    tidy(notebook)
    text = nbformat.writes(notebook)
    if found := MACHINE_PATH.search(text):
        sys.exit(f"{NOTEBOOK}: an output has a path of this machine: {found[0]}")
    if not arguments.check:
        NOTEBOOK.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
