"""The product of `small_product` in bfloat16, by AMX: eight tile registers of 16 rows by 64 bytes, on newer Intel CPUs.

One instruction multiplies 16 rows by 32 terms with 32 terms by 16 columns and adds to 16 by 16 float32 sums, sixteen
times what vectors of float32 do in the same time. Of its 32 terms, the even ones and the odd ones have a sum each, and
these two are added to what is there, all in float32; subnormal numbers count as zero. What one row gives does not
depend on the rows beside it.

The processor ends a process that uses the registers without asking: see `wordtie.kernels.backend.tiles_serve`.

Shapes: B rows, K terms of a sum, C columns, P panels of 16 columns, S blocks of 32 terms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils as untyped
from torch import Tensor

from wordtie.kernels.backend import in_parts
from wordtie.kernels.numba_math import compiled, inlined, instructions, store

cgutils: Any = untyped

SIDE = 32
"""Rows, terms and columns that a step of the product has: two tiles of rows, two of columns."""
_TILE = 16
_TILE_BYTES = 1024
_NAN = np.uint16(0x7FC0)

_I8, _I64 = ir.IntType(8), ir.IntType(64)
_ADDRESS = _I8.as_pointer()

_CONFIGURATION = np.zeros(64, np.uint8)
"""What the processor is told of its tiles: palette 1, and each of the eight has 16 rows of 64 bytes."""
_CONFIGURATION[0] = 1
_CONFIGURATION[16:32:2] = 64
_CONFIGURATION[48:56] = _TILE


def panels(matrix_KC: Tensor) -> Tensor:
    """Return the matrix in bfloat16 as (P, S, 16, 16), padded with zeros: an element is two terms, one column."""
    blocks, wide = (-(-size // SIDE) for size in matrix_KC.shape)
    cut = np.zeros((wide * SIDE // _TILE, blocks, _TILE, _TILE), np.uint32)
    matrix = matrix_KC.to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
    in_parts(lambda begin, end: _cut(matrix, cut, begin, end), len(cut))
    return torch.from_numpy(cut)


@compiled
def _cut(matrix: Any, cut: Any, begin: Any, end: Any) -> None:
    terms, columns = matrix.shape
    for p in range(begin, end):
        for s in range(cut.shape[1]):
            for pair in range(min(_TILE, (terms - s * SIDE + 1) // 2)):
                first = s * SIDE + 2 * pair
                second = min(first + 1, terms - 1)
                for c in range(min(_TILE, columns - p * _TILE)):
                    above = np.uint32(matrix[second, p * _TILE + c] if second > first else 0)
                    cut[p, s, pair, c] = np.uint32(matrix[first, p * _TILE + c]) | above << np.uint32(16)


@inlined
def room_for(count: Any, cut: Any) -> Any:
    """Return room for so many rows in bfloat16, padded with zeros to whole tiles and to all terms of the panels."""
    return np.zeros(((count + SIDE - 1) // SIDE * SIDE, cut.shape[1] * SIDE), np.uint16)


@inlined
def round_rows(rows: Any, begin: Any, end: Any, rounded: Any) -> None:
    """rounded[: end - begin] = rows[begin:end], whose every NaN stays one: `store` makes a number of some."""
    for b in range(begin, end):
        row, rounded_row = rows[b], rounded[b - begin]
        for k in range(rows.shape[1]):
            rounded_row[k] = store(row[k], rounded_row) if row[k] == row[k] else _NAN


def _call(builder: Any, name: str, *arguments: Any) -> None:
    kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.{name}"), arguments)


@instructions
def _configure(typing_context: Any, configuration: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        told = context.make_array(signature.args[0])(context, builder, arguments[0])
        _call(builder, "ldtilecfg", builder.bitcast(told.data, _ADDRESS))
        return context.get_dummy_value()

    return types.void(configuration), codegen


@inlined
def tiles_begin() -> None:
    """Give this thread its tiles."""
    _configure(_CONFIGURATION)


@instructions
def tiles_end(typing_context: Any) -> Any:
    """Take this thread's tiles away again, whose state would else be kept at each change of threads."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _call(builder, "tilerelease")
        return context.get_dummy_value()

    return types.void(), codegen


def _step(heights: int) -> Any:
    widths = SIDE // _TILE

    @instructions
    def step(typing_context: Any, rounded: Any, first: Any, cut: Any, panel: Any, sums: Any) -> Any:
        """sums[: 16 * heights] = rounded[first : first + 16 * heights] @ cut[panel : panel + 2]."""

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            arrays = [context.make_array(signature.args[n])(context, builder, arguments[n]) for n in (0, 2, 4)]
            rows, blocks, totals = (builder.bitcast(array.data, _ADDRESS) for array in arrays)
            row_bytes = builder.mul(cgutils.unpack_tuple(builder, arrays[0].shape)[1], _I64(2))
            count = cgutils.unpack_tuple(builder, arrays[1].shape)[1]
            total = {(r, c): _I8(r * widths + c) for r in range(heights) for c in range(widths)}
            left, right = [_I8(4 + r) for r in range(heights)], [_I8(6 + c) for c in range(widths)]
            row_begins = [builder.mul(builder.add(arguments[1], _I64(_TILE * r)), row_bytes) for r in range(heights)]
            panel_begins = [builder.mul(builder.add(arguments[3], _I64(c)), count) for c in range(widths)]
            for number in total.values():
                _call(builder, "tilezero", number)
            with cgutils.for_range(builder, count) as loop:
                for number, begin in zip(left, row_begins, strict=True):
                    place = builder.add(begin, builder.mul(loop.index, _I64(2 * SIDE)))
                    _call(builder, "tileloadd64", number, builder.gep(rows, [place]), row_bytes)
                for number, begin in zip(right, panel_begins, strict=True):
                    place = builder.mul(builder.add(begin, loop.index), _I64(_TILE_BYTES))
                    _call(builder, "tileloadd64", number, builder.gep(blocks, [place]), _I64(64))
                for (r, c), number in total.items():
                    _call(builder, "tdpbf16ps", number, left[r], right[c])
            for (r, c), number in total.items():
                place = _I64(4 * (r * _TILE * SIDE + c * _TILE))
                _call(builder, "tilestored64", number, builder.gep(totals, [place]), _I64(4 * SIDE))
            return context.get_dummy_value()

        return types.void(rounded, types.intp, cut, types.intp, sums), codegen

    return step


_two, _one = _step(2), _step(1)


@inlined
def add_product(rounded: Any, cut: Any, target: Any, begin: Any, end: Any, tile: Any) -> None:
    """target[begin:end] += rounded[: end - begin] @ matrix, where `cut` are the matrix's panels.

    `rounded` is `room_for` as many rows, `tile` (SIDE, SIDE) is scratch. To be called between `tiles_begin` and
    `tiles_end`.
    """
    for panel in range(0, cut.shape[0], SIDE // _TILE):
        for b in range(begin, end, SIDE):
            if end - b > _TILE:
                _two(rounded, b - begin, cut, panel, tile)
            else:
                _one(rounded, b - begin, cut, panel, tile)
            for r in range(min(SIDE, end - b)):
                for c in range(min(SIDE, target.shape[1] - panel * _TILE)):
                    target[b + r, panel * _TILE + c] += tile[r, c]
