"""Calling a function once another package is imported, with packages made for the test."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from wordtie.lazy import after_import


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package `waited_for`, and a module `caller` whose `call` lists which of its modules there are."""
    (tmp_path / "waited_for").mkdir()
    (tmp_path / "waited_for" / "__init__.py").write_text("from waited_for.inner import value\nready = True\n")
    (tmp_path / "waited_for" / "inner.py").write_text("value = 1\n")
    (tmp_path / "caller.py").write_text(
        "import waited_for\nseen = []\n"
        "def call():\n    seen.append(waited_for.ready)\ndef fail():\n    raise OSError('x')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield "waited_for"
    for name in ("waited_for", "waited_for.inner", "caller"):
        sys.modules.pop(name, None)


def seen() -> list[bool]:
    found: list[bool] = importlib.import_module("caller").seen
    return found


def test_is_called_once_after_the_package_has_run(package: str) -> None:
    finders = list(sys.meta_path)
    after_import(package, "caller", "call")
    assert importlib.util.find_spec(package) is not None, "looking it up imports nothing"
    assert package not in sys.modules
    assert "caller" not in sys.modules
    importlib.import_module("waited_for.inner")
    assert seen() == [True]
    importlib.reload(sys.modules[package])
    assert seen() == [True]
    assert sys.meta_path == finders, "the finder has gone"


def test_is_called_at_once_if_the_package_is_there(package: str) -> None:
    importlib.import_module(package)
    after_import(package, "caller", "call")
    assert seen() == [True]


def test_an_error_is_a_warning_and_the_package_is_imported(package: str) -> None:
    after_import(package, "caller", "fail")
    with pytest.warns(UserWarning, match="waited_for do not fit together: x"):
        assert importlib.import_module(package).ready


def test_a_package_that_is_missing_stays_missing(package: str) -> None:
    after_import("no_such_package", "caller", "call")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        importlib.import_module("no_such_package")
    assert importlib.import_module("waited_for.inner").value == 1
    assert "caller" not in sys.modules
