"""What numba lacks for vectorised softmaxes: exp without a library call, and bfloat16 as uint16.

`exp` is the Cephes polynomial after range reduction, within 2 units in the last place of float32; LLVM
vectorises it, which it cannot do with a call to libm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic


def _bitcast(source: Any, target: Any, llvm_target: Any) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def cast(typing_context: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], llvm_target)

        return target(source), codegen

    return cast


_float_of_bits = _bitcast(types.int32, types.float32, ir.FloatType())
_bits_of_float = _bitcast(types.float32, types.int32, ir.IntType(32))

_LOG2E = np.float32(1.44269504088896341)
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(-2.12194440e-4)
_P = tuple(
    np.float32(p)
    for p in (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
)
_ONE = np.float32(1)
_HALF = np.float32(0.5)
_LOWEST = np.float32(-87)


@njit(inline="always", error_model="numpy")  # type: ignore[untyped-decorator]
def exp(x: Any) -> Any:
    """e^x in float32 for x <= 88; below -87 the result is e^-87."""
    x = max(x, _LOWEST)
    k = np.floor(x * _LOG2E + _HALF)
    r = x - k * _LN2_HIGH - k * _LN2_LOW
    p = _P[0]
    p = p * r + _P[1]
    p = p * r + _P[2]
    p = p * r + _P[3]
    p = p * r + _P[4]
    p = p * r + _P[5]
    p = p * r * r + r + _ONE
    return p * _float_of_bits((np.int32(k) + np.int32(127)) << np.int32(23))


@njit(inline="always")  # type: ignore[untyped-decorator]
def load_bf16(value: Any) -> Any:
    """bfloat16 held in a uint16, to float32."""
    return _float_of_bits(np.int32(value) << np.int32(16))


@njit(inline="always")  # type: ignore[untyped-decorator]
def store_bf16(value: Any) -> Any:
    """float32 to bfloat16 in a uint16, rounded to nearest even."""
    bits = np.uint32(_bits_of_float(np.float32(value)))
    return np.uint16((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16))


@njit(inline="always")  # type: ignore[untyped-decorator]
def load_fp32(value: Any) -> Any:
    """float32 as it is."""
    return value


@njit(inline="always")  # type: ignore[untyped-decorator]
def store_fp32(value: Any) -> Any:
    """float32 as it is."""
    return np.float32(value)
