"""What the design promises of the whole: one direction of imports, small functions and files, a light start."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import wordtie
from benchmarks.start_up import small_run
from tests.import_graph import LAYERS, PAGE, PICTURE, ROOT, SOURCE, draw, import_graph, imported_layers, layer_of

FILES = sorted(SOURCE.rglob("*.py"))

MOST_LINES_IN_A_FILE = 400
MOST_LINES_IN_A_FUNCTION = 50
MOST_PUBLIC_NAMES = 15

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)


def name_of(file: Path) -> str:
    return str(file.relative_to(SOURCE))


def upward_imports(layer: str, source: str) -> list[str]:
    """The imports that go against the order; package attributes such as `__version__` are no layer."""
    return [
        f"line {line}: {layer} imports {imported}"
        for line, imported in imported_layers(source)
        if imported in LAYERS and LAYERS.index(imported) > LAYERS.index(layer)
    ]


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_lower_layers_never_import_higher_ones(file: Path) -> None:
    if file != SOURCE / "__init__.py":  # the front door names what lies in all the rooms
        assert layer_of(file) in LAYERS, f"a new layer: give it a row in the table of {PAGE}"
        assert upward_imports(layer_of(file), file.read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        "import wordtie.training.trainer",
        "from wordtie import training",
        "def f():\n    from wordtie.training.trainer import train",
    ],
)
def test_the_order_is_seen_to_be_broken(source: str) -> None:
    assert len(upward_imports("nn", source)) == 1
    assert upward_imports("commands", source) == []


def test_the_page_shows_the_real_imports() -> None:
    assert PICTURE.read_text(encoding="utf-8") == draw(import_graph()), "run `python -m tests.import_graph`"


def test_the_page_names_layers_and_files_that_exist() -> None:
    assert all((SOURCE / layer).is_dir() or (SOURCE / f"{layer}.py").is_file() for layer in LAYERS)
    assert sorted(set(LAYERS)) == sorted(LAYERS)
    named = re.findall(r"`([\w/.<>-]+\.py)(?:::\w+)?`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 40
    assert [name for name in named if "<" not in name and not any((at / name).exists() for at in (SOURCE, ROOT))] == []


def lines_of(function: ast.AST) -> int:
    """The function's own lines: those of functions and classes inside it count as theirs."""
    inner = [child for child in ast.walk(function) if child is not function and isinstance(child, DEFINITIONS)]
    lines_within = {line for child in inner for line in range(child.lineno, (child.end_lineno or child.lineno) + 1)}
    assert isinstance(function, DEFINITIONS)
    own = range(function.lineno, (function.end_lineno or function.lineno) + 1)
    return len(set(own) - lines_within)


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_files_and_functions_stay_small(file: Path) -> None:
    source = file.read_text()
    assert len(source.splitlines()) <= MOST_LINES_IN_A_FILE
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, FUNCTIONS)]
    assert {node.name: lines_of(node) for node in functions if lines_of(node) > MOST_LINES_IN_A_FUNCTION} == {}


def loaded_after(statement: str) -> set[str]:
    """Names in `sys.modules` of a fresh interpreter that ran the statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("module", ["wordtie", "wordtie.cli", "wordtie.config", "wordtie.errors"])
def test_the_front_imports_nothing_heavy(module: str) -> None:
    assert not loaded_after(f"import {module}") & {"torch", "numpy", "tokenizers", "yaml", "rich", "jinja2"}


def test_listing_rows_does_without_torch(tmp_path: Path) -> None:
    arguments = ["reproduce", "list", "--runs", str(tmp_path), "--results", str(tmp_path)]
    assert "torch" not in loaded_after(f"import wordtie.cli; assert wordtie.cli.main({arguments}) == 0")


@pytest.mark.parametrize("command", ["predict", "surprisal", "evaluate"])
def test_using_a_model_loads_little_beside_torch(command: str, tmp_path: Path) -> None:
    small_run(tmp_path / "run")
    (tmp_path / "text.txt").write_text("w1 w2 w3\n")
    arguments = [command, str(tmp_path / "run"), str(tmp_path / "text.txt")]
    beside = loaded_after(f"import wordtie.cli; assert wordtie.cli.main({arguments}) == 0") - loaded_after(
        "import torch"
    )
    assert "wordtie.inference.loading" in beside
    heavy = {
        "numba",
        "torch._dynamo",
        "sympy",
        "lightning",
        "yaml",
        "rich",
        "tokenizers",
        "transformers",
    }
    assert not beside & heavy


@pytest.mark.parametrize("arguments", [["--help"], []], ids=["--help", "bare"])
def test_help_comes_at_once(arguments: list[str]) -> None:
    def seconds() -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import wordtie.cli; wordtie.cli.main()", *arguments], check=True)
        return time.perf_counter() - start

    assert min(seconds() for _ in range(5)) < 0.5


def test_few_public_names() -> None:
    assert len(wordtie.__all__) <= MOST_PUBLIC_NAMES
    assert set(dir(wordtie)) == {*wordtie.__all__, "__version__"}


@pytest.mark.parametrize("name", wordtie.__all__)
def test_public_names_are_there(name: str) -> None:
    assert getattr(wordtie, name) is getattr(importlib.import_module(getattr(wordtie, name).__module__), name)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        wordtie.__getattr__("nothing")
