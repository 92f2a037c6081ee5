"""What keeps importing the package light: public names that are imported when first used (PEP 562), and what is done
once another package is imported.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package, from each public name to the module that defines it.

    To a type checker, every name would exist; so the package assigns it under `if not TYPE_CHECKING`.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get


def after_import(package: str, module: str, function: str) -> None:
    """Call a function of a module of ours once another package has been imported; now, if it has been.

    Until then neither is loaded: a finder at the head of `sys.meta_path` waits for the package. An error becomes a
    warning, because whoever imports the package may not need us.
    """

    def call() -> None:
        try:
            getattr(importlib.import_module(module), function)()
        except Exception as error:
            warnings.warn(f"wordtie and {package} do not fit together: {error}", stacklevel=2)

    if package in sys.modules:
        call()
    else:
        sys.meta_path.insert(0, _Waiting(package, call))


class _Waiting:
    """A finder of no module. It lets the others find the package, and calls a function after the package has run."""

    def __init__(self, package: str, call: Callable[[], None]) -> None:
        self.package = package
        self.call = call

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """That of the package by the next finder that knows it, with the call added; None for every other module."""
        if name != self.package:
            return None
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, found), None)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def run_and_call(module: ModuleType) -> None:
            run(module)
            if module.__name__ == self.package and self in sys.meta_path:
                sys.meta_path.remove(self)
                self.call()

        spec.loader.exec_module = run_and_call  # type: ignore[method-assign]
        return spec
