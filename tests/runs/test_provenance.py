"""The version that a result names."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from wordtie.runs.provenance import _dirty


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_two_states_of_a_file_that_git_does_not_know_have_two_names(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / "new").mkdir()
    found = set()
    for content in ("one", "two", "one"):
        (tmp_path / "new" / "core.py").write_text(content)
        found.add(_dirty(tmp_path, "?? new/"))
    assert len(found) == 2
    assert all(name.startswith("-dirty.") for name in found)
