"""Matrix products, by the faster of the two libraries that torch has for them.

torch multiplies float32 matrices with Intel's MKL, which uses AVX2 on processors of other makers even if they have
AVX-512. oneDNN, by which torch multiplies bfloat16 matrices, uses AVX-512 everywhere: on such a processor its products
take half the time. Sums are in another order, so results differ in the last digits.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from wordtie.kernels.backend import refuse_second_derivatives

FULL = "highest"
CPU_INFORMATION = Path("/proc/cpuinfo")


@cache
def onednn_is_faster() -> bool:
    """Whether oneDNN multiplies float32 matrices faster than MKL: with AVX-512 on a processor of AMD."""
    return (
        torch.backends.mkl.is_available()
        and torch.backends.mkldnn.is_available()
        and torch.backends.cpu.get_cpu_capability().startswith("AVX512")
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
        and _is_of_amd()
    )


@contextmanager
def products_in(precision: str) -> Iterator[None]:
    """Multiply float32 matrices in this precision, as `torch.set_float32_matmul_precision` has it; then as before.

    torch has one switch for all products and, since 2.9, one for each kind of device; setting the first one sets these,
    but reading it fails if they differ.
    """
    of_each: list[Any] = [torch.backends.cuda.matmul, getattr(torch.backends.mkldnn, "matmul", None)]
    apart = [(each, each.fp32_precision) for each in of_each if hasattr(each, "fp32_precision")]
    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError:
        before = FULL
    try:
        torch.set_float32_matmul_precision(precision)
        yield
    finally:
        torch.set_float32_matmul_precision(before)
        for each, kept in apart:
            each.fp32_precision = kept


def _is_of_amd() -> bool:
    try:
        described = CPU_INFORMATION.read_text(encoding="utf-8", errors="replace")
    except OSError:
        described = os.environ.get("PROCESSOR_IDENTIFIER", "")
    return "AuthenticAMD" in described


def product(a_MK: Tensor, b_KN: Tensor) -> Tensor:
    """Return a @ b, of one dtype on one device, without a gradient.

    >>> product(torch.ones(2, 3), torch.ones(3, 1)).tolist()
    [[3.0], [3.0]]
    """
    if serves(a_MK):
        if len(a_MK) > b_KN.shape[1] and a_MK.T.is_contiguous():  # oneDNN multiplies a tall transposed matrix slowly
            return _linear(b_KN.T, a_MK).T
        return _linear(a_MK, b_KN.T)
    return a_MK @ b_KN


def serves(a_MK: Tensor) -> bool:
    """Whether oneDNN multiplies this matrix."""
    return a_MK.dtype == torch.float32 and a_MK.device.type == "cpu" and a_MK.numel() > 0 and onednn_is_faster()


def add_product(total_MN: Tensor, a_MK: Tensor, b_KN: Tensor, overwrite: bool = False) -> None:
    """Add a @ b to the total, which may have another dtype; `overwrite`: whatever it held."""
    if total_MN.dtype == a_MK.dtype and not serves(a_MK):
        torch.addmm(total_MN, a_MK, b_KN, beta=0 if overwrite else 1, out=total_MN)
    elif overwrite:
        total_MN.copy_(product(a_MK, b_KN))
    else:
        total_MN += product(a_MK, b_KN)


def trained_product(a_MK: Tensor, b_KN: Tensor) -> Tensor:
    """Return a @ b, with a first derivative.

    Where no derivative is wanted it is torch's own product, so that scores are the same before and after training.
    """
    if not (torch.is_grad_enabled() and serves(a_MK)):
        return a_MK @ b_KN
    found: Tensor = ProductFunction.apply(a_MK, b_KN)  # type: ignore[no-untyped-call]
    return found


class ProductFunction(torch.autograd.Function):
    """`product` and its derivative."""

    @staticmethod
    def forward(ctx: Any, a_MK: Tensor, b_KN: Tensor) -> Tensor:
        """Return a @ b."""
        ctx.save_for_backward(a_MK, b_KN)
        return product(a_MK, b_KN)

    @staticmethod
    def backward(ctx: Any, d_MN: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Return the gradients of a and of b."""
        refuse_second_derivatives()
        a_MK, b_KN = ctx.saved_tensors
        wants_a, wants_b = ctx.needs_input_grad
        return product(d_MN, b_KN.T) if wants_a else None, product(a_MK.T, d_MN) if wants_b else None


def affine(a_MK: Tensor, b_KN: Tensor, bias_N: Tensor) -> Tensor:
    """Return a @ b + bias, as `product` does."""
    return product(a_MK, b_KN).add_(bias_N) if serves(a_MK) else torch.addmm(bias_N, a_MK, b_KN)


def _dense(matrix: Tensor) -> Tensor:
    """Return the matrix by rows or by columns without gaps, for which alone oneDNN has fast code."""
    return matrix if matrix.is_contiguous() or matrix.T.is_contiguous() else matrix.contiguous()


def _linear(a_MK: Tensor, b_NK: Tensor) -> Tensor:
    linear: Any = torch.ops.mkldnn._linear_pointwise
    found: Tensor = linear(_dense(a_MK), _dense(b_NK), None, "none", [], "")
    return found
