"""A product of few rows with a matrix that stays in cache, inside a compiled function: for recurrences.

The matrix is cut into panels of `WIDTH` columns, two machine vectors wide. A tile of up to six rows by one panel is
summed in vector registers, over k = 0, 1, ... K-1; what one row gives does not depend on the rows beside it. Six rows
are as many as AVX2's sixteen registers hold, with one for either vector of the panel and one for a row's own number.

Shapes: B rows, K terms of a sum, C columns, P panels.
"""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils as untyped
from torch import Tensor

from wordtie.kernels.numba_math import inlined, instructions

cgutils: Any = untyped


def _has_avx512() -> bool:
    try:
        return bool(binding.get_host_cpu_features().get("avx512f"))
    except RuntimeError:  # LLVM cannot tell of every processor
        return False


_LANES = 16 if _has_avx512() else 8
WIDTH = 2 * _LANES
HEIGHT = 6
_VECTOR = ir.VectorType(ir.FloatType(), _LANES)
_FUSED = ("contract",)
"""LLVM flags: multiply and add may become one instruction."""


def panels(matrix_KC: Tensor) -> Tensor:
    """Return the matrix as (P, K, WIDTH), with the last panel padded with zeros."""
    terms, columns = matrix_KC.shape
    return F.pad(matrix_KC, (0, -columns % WIDTH)).view(terms, -1, WIDTH).transpose(0, 1).contiguous()


def _tile(height: int) -> Any:
    @instructions
    def tile(typing_context: Any, rows: Any, first: Any, panel: Any, sums: Any) -> Any:
        """sums[:height] = rows[first : first + height] @ panel, all of them contiguous float32."""

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            row_array, panel_array, sum_array = (
                context.make_array(signature.args[n])(context, builder, arguments[n]) for n in (0, 2, 3)
            )
            terms = cgutils.unpack_tuple(builder, row_array.shape)[1]
            parts = WIDTH // _LANES
            totals = [[cgutils.alloca_once_value(builder, _VECTOR([0.0] * _LANES)) for _ in range(parts)]
                      for _ in range(height)]  # fmt: skip
            one, zeros = ir.IntType(64)(1), ir.VectorType(ir.IntType(32), _LANES)([0] * _LANES)

            def vector_at(array: Any, offset: Any) -> Any:
                return builder.bitcast(builder.gep(array.data, [offset]), _VECTOR.as_pointer())

            begins = [builder.mul(builder.add(arguments[1], one.type(r)), terms) for r in range(height)]
            with cgutils.for_range(builder, terms) as loop:
                begin = builder.mul(loop.index, one.type(WIDTH))
                places = [builder.add(begin, one.type(part * _LANES)) for part in range(parts)]
                weights = [builder.load(vector_at(panel_array, place), align=4) for place in places]
                for r in range(height):
                    value = builder.load(builder.gep(row_array.data, [builder.add(begins[r], loop.index)]))
                    single = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, ir.IntType(32)(0))
                    spread = builder.shuffle_vector(single, ir.Constant(_VECTOR, ir.Undefined), zeros)
                    for total, weight in zip(totals[r], weights, strict=True):
                        product = builder.fmul(spread, weight, flags=_FUSED)
                        builder.store(builder.fadd(builder.load(total), product, flags=_FUSED), total)
            for r in range(height):
                for part in range(parts):
                    place = one.type(r * WIDTH + part * _LANES)
                    builder.store(builder.load(totals[r][part]), vector_at(sum_array, place), align=4)
            return context.get_dummy_value()

        return types.void(rows, types.intp, panel, sums), codegen

    return tile


_six, _four, _two, _one = _tile(HEIGHT), _tile(4), _tile(2), _tile(1)


@inlined
def _add(tile: Any, first: Any, column: Any, height: Any, target: Any) -> None:
    for r in range(height):
        for c in range(min(WIDTH, target.shape[1] - column)):
            target[first + r, column + c] += tile[r, c]


@inlined
def add_product(rows: Any, panels: Any, target: Any, begin: Any, end: Any, tile: Any) -> None:
    """target[begin:end] += rows[begin:end] @ matrix, where `panels` are the matrix's.

    `tile` (HEIGHT, WIDTH) is scratch.
    """
    for p in range(panels.shape[0]):
        b = begin
        while b < end:
            left = end - b
            if left >= 6 and left // 2 != 4:  # eight rows are two fours rather than six and two
                _six(rows, b, panels[p], tile)
                height = 6
            elif left >= 4:
                _four(rows, b, panels[p], tile)
                height = 4
            elif left >= 2:
                _two(rows, b, panels[p], tile)
                height = 2
            else:
                _one(rows, b, panels[p], tile)
                height = 1
            _add(tile, b, p * WIDTH, height, target)
            b += height
