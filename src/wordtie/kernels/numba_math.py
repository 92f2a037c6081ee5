"""What numba lacks for vectorised softmaxes: exp without a library call, and bfloat16 held as uint16.

`exp` is a polynomial after range reduction (minimax of degree 6, within 5 units in the last place of float32);
LLVM vectorises it, which it cannot do with a call to libm. The order of a float is that of an integer made from
its bits: so a row's maximum vectorises without fast-math flags that would let a NaN slip through.

numba's cache notices changes of the file that holds a compiled function, but not of those that it inlines from others:
so the folder of the cache is named by the content of all kernels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, njit, types
from numba.extending import intrinsic

from wordtie.config.paths import cache_folder
from wordtie.errors import SaveError

Compiled: TypeAlias = Callable[..., Any]

FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
"""Flags that let sums vectorise; neither `nnan` nor `ninf`, which would let the compiler lose a NaN."""


_SETTINGS: dict[str, Any] = {"fastmath": FASTMATH, "error_model": "numpy", "nogil": True}
_SETTING = Lock()
"""Held while numba's setting, which applies to the whole process, is changed."""


def compiled(function: Compiled) -> Compiled:
    """Compile on first use, to run without the GIL, and keep the machine code on disk if a folder is writable:
    in the cache, or in that of the variable NUMBA_CACHE_DIR.

    What it calls must be `inlined`: a call to another compiled function goes to whichever copy of it the process
    holds, and that of the process which compiles rounds differently from the one kept on disk.
    """
    try:
        with _folder_of_these_kernels():
            made: Compiled = njit(cache=True, **_SETTINGS)(function)
    except (OSError, RuntimeError, SaveError):  # no folder that can be written, or no home
        made = njit(**_SETTINGS)(function)
    return made


@contextmanager
def _folder_of_these_kernels() -> Iterator[None]:
    """Set where numba keeps machine code, while a function is declared. Raises `OSError` if it cannot be written.

    numba would then take the folder of the source, which no digest names.
    """
    of_numba: Any = config  # whose stubs do not know its settings
    with _SETTING:
        before = of_numba.CACHE_DIR
        folder = _made(Path(before or cache_folder() / "kernels") / digest())
        try:
            of_numba.CACHE_DIR = str(folder)
            yield
        finally:
            of_numba.CACHE_DIR = before


@cache
def _made(folder: Path) -> Path:
    """Create the folder and check that it can be written, once, not for each kernel. Raises `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=folder):
        for index in folder.rglob("*.nbi"):  # numba would not get over one that a crash of the machine left empty
            if not index.stat().st_size:
                index.unlink(missing_ok=True)
        return folder


@cache
def digest() -> str:
    """Return a digest of the source of all kernels."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def inlined(function: Compiled) -> Compiled:
    """Make a function part of `compiled` ones: its machine code is inside its caller's, never a call."""
    made: Compiled = njit(forceinline=True, **_SETTINGS)(function)
    return made


def instructions(typing: Compiled) -> Compiled:
    """Make a function that is given in the compiler's own instructions."""
    made: Compiled = intrinsic(typing)
    return made


def _bitcast(source: Any, target: Any, llvm_target: Any) -> Any:
    @instructions
    def cast(typing_context: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], llvm_target)

        return target(source), codegen

    return cast


_I16, _I32 = ir.IntType(16), ir.IntType(32)
_float_of_bits = _bitcast(types.int32, types.float32, ir.FloatType())


@instructions
def load(typing_context: Any, value: Any) -> Any:
    """Return a score, bfloat16 in a uint16 or float32, as float32."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if value == types.float32:
            return arguments[0]
        bits = builder.shl(builder.zext(arguments[0], _I32), ir.Constant(_I32, 16))
        return builder.bitcast(bits, ir.FloatType())

    return types.float32(value), codegen


@instructions
def store(typing_context: Any, value: Any, row: Any) -> Any:
    """Return a finite float32 as `row` holds it: as it is, or rounded to the nearest bfloat16, ties to even."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if row.dtype == types.float32:
            return arguments[0]
        bits = builder.bitcast(arguments[0], _I32)
        odd = builder.and_(builder.lshr(bits, ir.Constant(_I32, 16)), ir.Constant(_I32, 1))
        rounded = builder.add(builder.add(bits, ir.Constant(_I32, 0x7FFF)), odd)
        return builder.trunc(builder.lshr(rounded, ir.Constant(_I32, 16)), _I16)

    return row.dtype(types.float32, row), codegen


@instructions
def rank(typing_context: Any, value: Any) -> Any:
    """Return a float32 (or bfloat16 in a uint16) as a signed integer of the same order; `value_of_rank` undoes it."""
    wide = value == types.float32

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, width, mask = (_I32, 32, 0x7FFFFFFF) if wide else (_I16, 16, 0x7FFF)
        bits = builder.bitcast(arguments[0], kind)
        sign = builder.ashr(bits, ir.Constant(kind, width - 1))
        return builder.xor(bits, builder.and_(sign, ir.Constant(kind, mask)))

    return (types.int32 if wide else types.int16)(value), codegen


@instructions
def value_of_rank(typing_context: Any, order: Any) -> Any:
    """Return the float32 whose `rank` is `order`."""
    wide = order == types.int32

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, width, mask = (_I32, 32, 0x7FFFFFFF) if wide else (_I16, 16, 0x7FFF)
        sign = builder.ashr(arguments[0], ir.Constant(kind, width - 1))
        bits = builder.xor(arguments[0], builder.and_(sign, ir.Constant(kind, mask)))
        if not wide:
            bits = builder.shl(builder.zext(bits, _I32), ir.Constant(_I32, 16))
        return builder.bitcast(bits, ir.FloatType())

    return types.float32(order), codegen


def _choose(comparison: str) -> Any:
    @instructions
    def chosen(typing_context: Any, a: Any, b: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.select(builder.icmp_signed(comparison, *arguments), *arguments)

        return a(a, b), codegen

    return chosen


larger, smaller = _choose(">"), _choose("<")
"""The larger or smaller of two integers of one type, in that type (numba itself would widen them)."""

_LOG2E = np.float32(1.44269504088896341)
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(-2.12194440e-4)
_P = tuple(np.float32(p) for p in (1.38144647e-3, 8.36874893e-3, 4.16683877e-2, 1.66665203e-1, 4.99999930e-1))
_ONE = np.float32(1)
_HALF = np.float32(0.5)
_LOWEST = np.float32(-87)


@njit(inline="always", error_model="numpy")
def exp(x: Any) -> Any:
    """Return e^x in float32 for x <= 88; below -87 the result is e^-87. A NaN stays one: `max` keeps its first."""
    x = max(x, _LOWEST)
    k = np.floor(x * _LOG2E + _HALF)
    r = x - k * _LN2_HIGH - k * _LN2_LOW
    p = _P[0]
    p = p * r + _P[1]
    p = p * r + _P[2]
    p = p * r + _P[3]
    p = p * r + _P[4]
    p = p * r * r + r + _ONE
    return p * _float_of_bits((np.int32(k) + np.int32(127)) << np.int32(23))
