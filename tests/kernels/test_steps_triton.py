"""Triton's kernels for the recurrence, in its interpreter and as its compiler takes them: no GPU is needed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from tests.kernels.windows import backwards, window
from wordtie.kernels.lstm import steps_torch

pytest.importorskip("triton", reason="triton is not installed: it is there on Linux")

STEPS, STREAMS, UNITS = 4, 3, 90
"""More elements than one program computes, and not a multiple of them."""


@pytest.fixture
def steps_triton(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A copy of the module as the interpreter runs it, which is decided when it is imported."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    found = importlib.util.spec_from_file_location(
        "interpreted", Path(steps_torch.__file__).with_name("steps_triton.py")
    )
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    assert module.BLOCK < STREAMS * UNITS
    return module


def operands(dropped: bool) -> list[Any]:
    return window(STEPS, STREAMS, UNITS, dropped, cell_scale=30, gate_scale=5)


@pytest.mark.parametrize("dropped", [False, True], ids=["whole", "candidates dropped"])
def test_forward_and_backward_are_those_of_torch(steps_triton: ModuleType, dropped: bool) -> None:
    ours, expected = operands(dropped), operands(dropped)
    steps_triton.forward(*ours)
    steps_torch.forward(*expected)
    for one, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    ours, expected = backwards(expected), backwards(expected)
    steps_triton.backward(*ours)
    steps_torch.backward(*expected)
    for one, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_what_is_not_a_number_stays_so(steps_triton: ModuleType) -> None:
    given = operands(dropped=False)
    gates, hidden = given[0], given[6]
    assert gates is not None
    assert hidden is not None
    gates[0, 0, 2 * UNITS] = torch.nan
    gates[0, 1, 2 * UNITS :] = torch.inf
    steps_triton.forward(*given)
    assert hidden[0, 0, 0].isnan()
    assert hidden[0, 1].isfinite().all()


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("kernel", ["_step_forward", "_step_backward"])
@pytest.mark.parametrize("capability", [80, 90])
def test_it_compiles_for_a_gpu(kernel: str, capability: int, dropped: bool) -> None:
    """The interpreter takes Python that the compiler refuses."""
    compiled_by, compiler = (importlib.import_module(f"triton.{name}") for name in ("backends.compiler", "compiler"))
    module = importlib.import_module("wordtie.kernels.lstm.steps_triton")
    function = getattr(module, kernel)
    kinds = {"size": "i32", "units": "i32", "is_dropped": "constexpr", "block": "constexpr"}
    constants = {"is_dropped": dropped, "block": 256}
    if not dropped:
        kinds["dropped"], constants["dropped"] = "constexpr", None  # type: ignore[assignment]
    signature = {name: kinds.get(name, "*fp32") for name in function.arg_names}
    source = compiler.ASTSource(function, signature, constants)
    built = compiler.compile(source, target=compiled_by.GPUTarget("cuda", capability, 32), options=module.OPTIONS)
    assert "st.global" in built.asm["ptx"]
