"""Products in tile registers, and the recurrence with them, where the processor has AMX."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

pytest.importorskip("numba", reason="numba is not installed")

from numba import types

from tests.kernels.windows import backwards, randn, window
from wordtie.kernels.backend import tiles_serve
from wordtie.kernels.lstm import layer, steps_amx, steps_numba, steps_torch
from wordtie.kernels.lstm.tile_product import (
    _ADDRESS,
    SIDE,
    _call,
    add_product,
    panels,
    room_for,
    round_rows,
    tiles_begin,
    tiles_end,
)
from wordtie.kernels.numba_math import compiled, instructions
from wordtie.nn.lstm import LSTMLayer, LSTMWeights
from wordtie.nn.masks import LayerMasks

needs_tiles = pytest.mark.skipif(not tiles_serve(), reason="this processor has no AMX, or may not be asked for it")

STEPS, STREAMS, UNITS = 5, 37, 45
"""More streams than two tiles have rows, and units that fill no tile."""


def rounded(matrix: Tensor) -> Tensor:
    return matrix.to(torch.bfloat16).to(torch.float64)


@compiled
def _product(rows: Any, cut: Any, target: Any, begin: Any, end: Any) -> None:
    tile, room = np.empty((SIDE, SIDE), np.float32), room_for(end - begin, cut)
    round_rows(rows, begin, end, room)
    tiles_begin()
    add_product(room, cut, target, begin, end, tile)
    tiles_end()


def product(rows: Tensor, matrix: Tensor, target: Tensor, begin: int, end: int) -> Tensor:
    found = target.clone()
    _product(rows.numpy(), panels(matrix).numpy(), found.numpy(), begin, end)
    return found


@needs_tiles
@pytest.mark.parametrize(("terms", "columns"), [(1, 1), (37, 35), (64, 32), (33, 50)])
@pytest.mark.parametrize("count", [1, 16, 17, 32, 33, 50])
def test_rows_between(count: int, terms: int, columns: int) -> None:
    """Added to what is there, and to nothing beside it; bit for bit as if each row stood alone."""
    rows, matrix = randn(1, count + 2, terms), randn(2, columns, terms).T
    target = randn(3, count + 2, columns)
    found = product(rows, matrix, target, 1, count + 1)
    expected = (target + rounded(rows) @ rounded(matrix)).float()
    expected[0], expected[-1] = target[0], target[-1]
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert torch.equal(found[[0, -1]], target[[0, -1]])
    assert torch.equal(product(rows, matrix.contiguous(), target, 1, count + 1), found)
    for row in range(1, count + 1):
        assert torch.equal(product(rows, matrix, target, row, row + 1)[row], found[row])


@compiled
def _room(count: Any, cut: Any) -> Any:
    return room_for(count, cut)


@pytest.mark.parametrize(("count", "expected"), [(1, 32), (32, 32), (33, 64)])
def test_rooms_are_of_whole_tiles(count: int, expected: int) -> None:
    """Tiles are loaded whole: what lies beyond the rows and terms is read, too."""
    assert _room(count, panels(randn(1, 33, 5)).numpy()).shape == (expected, 64)


OTHER_NAN = float(np.array(0x7FFFFFFF, np.uint32).view(np.float32))
"""Which would be zero, were its bits rounded like those of a number."""


@needs_tiles
@pytest.mark.parametrize("bad", [float("nan"), OTHER_NAN, -OTHER_NAN, float("inf"), -float("inf")])
def test_what_is_not_finite_shows(bad: float) -> None:
    rows, matrix, target = torch.ones(3, 40), torch.ones(40, 5), torch.zeros(3, 5)
    rows.numpy()[1, 33] = bad
    found = product(rows, matrix, target, 0, 3)
    torch.testing.assert_close(found[1], torch.full((5,), bad), equal_nan=True)
    assert found[[0, 2]].isfinite().all()


def literal_forward(*given: Any) -> None:
    """Each step by itself in torch, its product in float64 of rounded operands."""
    gates, weight, mask, candidates, cells, squashed, hidden, masked = given
    nothing = torch.zeros_like(weight)
    for t in range(STEPS):
        gates[t] += (rounded(masked[t]) @ rounded(weight).T).float()
        here, after = slice(t, t + 1), slice(t, t + 2)
        chosen = None if candidates is None else candidates[here]
        steps_torch.forward(
            gates[here], nothing, mask, chosen, cells[after], squashed[here], hidden[here], masked[after]
        )


def literal_backward(*given: Any) -> None:
    d_hidden, d_next, d_cell, gates, weight, mask, candidates, cells, squashed, d_gates = given
    nothing = torch.zeros_like(weight)
    for t in reversed(range(STEPS)):
        here, after = slice(t, t + 1), slice(t, t + 2)
        chosen = None if candidates is None else candidates[here]
        steps_torch.backward(
            d_hidden[here], d_next, d_cell, gates[here], nothing, mask, chosen, cells[after], squashed[here],
            d_gates[here],
        )  # fmt: skip
        d_next.copy_(rounded(d_gates[t]) @ rounded(weight))


@needs_tiles
@pytest.mark.parametrize("dropped", [False, True], ids=["whole", "candidates dropped"])
def test_the_recurrence_is_that_of_rounded_operands(dropped: bool) -> None:
    """An operand between two bfloat16 may fall either way: so the norm counts, and must be small beside what rounding
    itself changes."""

    def near(kind: str, found: Tensor, literal: Tensor, exact: Tensor) -> None:
        assert (found - literal).norm() < 0.1 * (exact - literal).norm(), kind

    ours, literal, exact = (window(STEPS, STREAMS, UNITS, dropped) for _ in range(3))
    steps_amx.forward(*ours)
    literal_forward(*literal)
    steps_torch.forward(*exact)
    written = {"gates": 0, "cells": 4, "squashed": 5, "hidden": 6, "masked": 7}
    for kind, place in written.items():
        near(kind, *(operands[place] for operands in (ours, literal, exact)))
    found, expected, without = (backwards(literal) for _ in range(3))
    steps_amx.backward(*found)
    literal_backward(*expected)
    steps_torch.backward(*without)
    for kind, place in {"d_next": 1, "d_cell": 2, "d_gates": 9}.items():
        near(kind, found[place], expected[place], without[place])


def layer_gradients() -> list[Tensor]:
    """Of a layer whose large products oneDNN does in tiles of its own, before and after ours."""
    made = LSTMLayer(64, UNITS)
    for number, parameter in enumerate(made.parameters()):
        parameter.data.copy_(randn(10 + number, *parameter.shape, scale=0.3))
    weights = LSTMWeights(made.input_weight, made.recurrent_weight, made.bias)
    inputs, state = randn(20, STEPS, STREAMS, 64), (torch.zeros(STREAMS, UNITS), torch.zeros(STREAMS, UNITS))
    outputs, _ = layer.FastLayer(torch.bfloat16)(weights, inputs, state, LayerMasks(None, None))
    return [
        outputs.detach(),
        *torch.autograd.grad((outputs * randn(21, *outputs.shape)).sum(), list(made.parameters())),
    ]


@needs_tiles
def test_it_is_the_same_with_any_number_of_threads_and_each_time(set_threads: Callable[[int], None]) -> None:
    found = []
    for count in (1, 2, 2, 3):
        set_threads(count)
        there = window(STEPS, STREAMS, UNITS, True)
        steps_amx.forward(*there)
        back = backwards(there)
        steps_amx.backward(*back)
        found.append([layer_gradients()[0], *there, *back])
    for other in found[1:]:
        assert all(torch.equal(one, another) for one, another in zip(found[0], other, strict=True))
    set_threads(1)
    assert all(torch.equal(one, other) for one, other in zip(layer_gradients(), layer_gradients(), strict=True))


@needs_tiles
def test_a_layer_uses_tiles_in_both_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("forward", "backward"):
        monkeypatch.setattr(steps_numba, name, lambda *_: pytest.fail("in float32"))
    layer_gradients()


@instructions
def _configuration(typing_context: Any, told: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = context.make_array(told)(context, builder, arguments[0]).data
        _call(builder, "sttilecfg", builder.bitcast(place, _ADDRESS))
        return context.get_dummy_value()

    return types.void(told), codegen


@compiled
def _tell_configuration(told: Any) -> None:
    _configuration(told)


@needs_tiles
def test_tiles_are_given_back(set_threads: Callable[[int], None]) -> None:
    """Else the system saves eight kilobytes at each change of threads."""
    there, told = window(STEPS, STREAMS, UNITS, True), np.ones(64, np.uint8)
    set_threads(1)
    for work, operands in ((steps_amx.forward, there), (steps_amx.backward, backwards(there))):
        work(*operands)
        _tell_configuration(told)
        assert not told.any()


@pytest.mark.parametrize(
    ("precision", "tiles", "expected"),
    [
        (torch.bfloat16, True, steps_amx),
        (torch.bfloat16, False, steps_numba),
        (torch.float32, True, steps_numba),
    ],
    ids=["bf16", "no tiles", "fp32"],
)
def test_tiles_are_for_bf16_on_a_processor_that_has_them(
    precision: torch.dtype, tiles: bool, expected: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layer, "tiles_serve", lambda: tiles)
    assert layer._steps_for(torch.zeros(1), precision, training=True) is expected


def test_numba_that_compiles_for_an_older_processor_has_no_tiles() -> None:
    """A kernel with them would end the process."""
    code = "from wordtie.kernels.backend import tiles_serve; assert not tiles_serve()"
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
