"""The site of the documentation, built where the extra `docs` is installed: no warning, no request to another host."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
INSTALLED = all(importlib.util.find_spec(name) for name in ("mkdocs", "material", "mkdocstrings"))


@pytest.mark.skipif(not INSTALLED, reason="the extra `docs` is not installed; scripts/docs installs it")
def test_the_site_has_every_page_and_asks_no_other_host(tmp_path: Path) -> None:
    call = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(call, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    names = {page.name for page in pages}
    wanted = {page.with_suffix(".html").name for page in (ROOT / "docs").rglob("*.md")}
    assert wanted | {"index.html", "api.html", "commands.html", "security.html"} <= names
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"?(?:https?:)?//[^ >]*", text) == [], (
            page.name
        )
    assert "LoadedModel" in (tmp_path / "api.html").read_text(encoding="utf-8")
    assert "var __index" in (tmp_path / "search" / "search_index.js").read_text(encoding="utf-8")
